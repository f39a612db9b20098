import { attempt } from '../../core/attempt.ts';
import { linesOf } from './lines.ts';
import type { Mark } from './sections.ts';

const modifiers =
  /^(?:(?:export|default|pub(?:\([\w ]*\))?|public|private|protected|internal|static|async|abstract|final|override|inline|unsafe|virtual|declare|sealed|partial|open|data|local)\s+)*/;
const definition =
  /^(def|class|function\*?|func|fun|fn|interface|struct|enum|trait|impl|type|module|namespace|object|record|sub|procedure|protocol|extension|package|create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|index))\s+(?:\([^)]{0,80}\)\s*)?([\w$.:<>~"`-]{1,80})/i;
const assigned =
  /^(?:const|let|var|val)\s+([\w$]{1,80})\s*(?::[^=]{0,200})?=\s*(?:async\s*)?(?:function\b|\(|[\w$]+\s*=>|class\b)/;
/** `int main(void) {` at the first column, `name(value) {` in a class. */
const called = /^(?:[\w:<>[\],]+[\s*&]+){0,4}([\w$~:]{1,80})\s*\([^;{}]*[{,(]\s*$/;
const noName =
  /^(?:if|for|while|switch|catch|return|else|do|with|try|await|new|throw|elif|except|case|assert|when|until|unless|print|include|require)$/;

/** Deeper symbols are details of those around them. */
const maxIndentation = 8;
const maxLine = 300;

/** The symbols of program code in any usual language, by their first lines: each is a heading, and nested ones lie below. */
export function codeMarks(text: string): Mark[] {
  const marks: Mark[] = [{ type: 'kind', at: 0, kind: 'code' }];
  let leading: number | undefined;
  let isInside = false;
  let blank = true;
  for (const { start, line } of linesOf(text)) {
    const code = line.slice(0, maxLine).trimEnd();
    const content = code.trimStart();
    if (content === '') {
      blank = true;
      leading = undefined;
      continue;
    }
    const indentation = widthOf(code, code.length - content.length);
    const name = indentation <= maxIndentation ? symbolOf(content, indentation) : undefined;
    if (name !== undefined) {
      const at = leading ?? start;
      marks.push({ type: 'heading', at, level: indentation + 1, title: name }, { type: 'kind', at, kind: 'code' });
      isInside = true;
    } else if (
      isInside &&
      blank &&
      indentation === 0 &&
      leading === undefined &&
      !isLeading(content) &&
      /^[\w$@"'(]/.test(content)
    ) {
      // Statements behind a symbol are no part of it.
      marks.push({ type: 'heading', at: start, level: 1, title: '' }, { type: 'kind', at: start, kind: 'code' });
      isInside = false;
    }
    // Comments, decorators and attributes belong to the symbol below them.
    leading = name === undefined && isLeading(content) ? (leading ?? start) : undefined;
    blank = false;
  }
  return marks;
}

const isLeading = (line: string): boolean =>
  /^(?:\/\/|\/\*|\*|#(?!\s*(?:include|define|if|endif|else|pragma))|@|--|;;|%)/.test(line);

function symbolOf(line: string, indentation: number): string | undefined {
  const plain = line.replace(modifiers, '');
  const defined = definition.exec(plain);
  if (defined) {
    const [, word = '', name = ''] = defined;
    // `type` and `object` are words of other things too.
    if (/^(?:type|object|record|module|package|extension)$/i.test(word) && !/[{=;:]|^\S+\s+\S+$/.test(plain))
      return undefined;
    return name.replace(/[<:"`(]+.*$/, '') || undefined;
  }
  const value = indentation === 0 ? assigned.exec(plain)?.[1] : undefined;
  if (value !== undefined) return value;
  if (indentation > 4 || !/[{(,]$/.test(line) || !/^[\w$~]/.test(plain)) return undefined;
  const name = called.exec(plain)?.[1];
  if (name === undefined || noName.test(name) || noName.test(/^\w*/.exec(plain)?.[0] ?? '')) return undefined;
  // A call of a function is no definition.
  return line.endsWith('{') ? name : undefined;
}

function widthOf(line: string, length: number): number {
  let width = 0;
  for (let at = 0; at < length; at += 1) width += line[at] === '\t' ? 4 : 1;
  return width;
}

/** The structure of JSON: the keys of its outermost object. */
export function jsonMarks(text: string): Mark[] {
  const marks: Mark[] = [{ type: 'kind', at: 0, kind: 'code' }];
  for (const { start, line } of linesOf(text)) {
    const key = /^(?: {1,4}|\t)"((?:[^"\\]|\\.){1,100})"\s*:/.exec(line.slice(0, 120))?.[1];
    if (key === undefined) continue;
    const level = /^\s*/.exec(line)?.[0].replaceAll('\t', '  ').length ?? 1;
    marks.push({ type: 'heading', at: start, level, title: key }, { type: 'kind', at: start, kind: 'code' });
  }
  return marks;
}

/** JSON in lines: one that was written without them is unfolded. */
export function jsonLines(text: string): { readonly text: string; readonly hasLines: boolean } {
  const longest = text.length / (text.split('\n', 1000).length + 1);
  if (longest < 200) return { text, hasLines: true };
  const unfolded = () => ({ text: JSON.stringify(JSON.parse(text), undefined, 1), hasLines: false });
  // Damaged, or nested too deeply: read as plain text.
  return attempt(unfolded, { text, hasLines: true });
}
