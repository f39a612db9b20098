import { linesOf } from './lines.ts';
import type { Mark } from './sections.ts';

/** The structure of a Markdown text: headings of both kinds, code in fences, tables. */
export function markdownMarks(text: string): Mark[] {
  const marks: Mark[] = [];
  let fence: string | undefined;
  let isTable = false;
  let before: { readonly start: number; readonly line: string } | undefined;
  const endTable = (at: number): void => {
    if (isTable) marks.push({ type: 'kind', at, kind: 'text' });
    isTable = false;
  };
  const frontMatter = frontMatterEnd(text);
  for (const { start, line } of linesOf(text)) {
    if (start < frontMatter) continue;
    const fences = /^ {0,3}(`{3,}(?=[^`]*$)|~{3,})/.exec(line)?.[1];
    if (fence !== undefined) {
      const closes = fences?.startsWith(fence) && line.trim() === fences;
      if (closes) {
        marks.push({ type: 'kind', at: start + line.length, kind: 'text' });
        fence = undefined;
      }
    } else if (fences !== undefined) {
      endTable(start);
      marks.push({ type: 'kind', at: start, kind: 'code' });
      fence = fences;
      before = undefined;
    } else if (isTable && !line.includes('|')) {
      endTable(start);
      before = { start, line };
    } else if (!isTable) {
      const heading = /^ {0,3}(#{1,6})[ \t]+(\S.*)$/.exec(line);
      if (heading) {
        const [, level = '', title = ''] = heading;
        marks.push({ type: 'heading', at: start, level: level.length, title: plainTitle(title) });
        before = undefined;
      } else if (before && isUnderline(line) && isTitle(before.line)) {
        const level = line.trimStart().startsWith('=') ? 1 : 2;
        marks.push({ type: 'heading', at: before.start, level, title: plainTitle(before.line) });
        before = undefined;
      } else if (before?.line.includes('|') && isDelimiterRow(line)) {
        marks.push({ type: 'kind', at: before.start, kind: 'table' });
        isTable = true;
      } else before = { start, line };
    }
  }
  return marks;
}

/** The title of a Markdown text: that of its front matter, or else its first heading. */
export function markdownTitle(text: string, marks: readonly Mark[]): string | undefined {
  const title = /^title:[ \t]*(.+)$/m.exec(text.slice(0, frontMatterEnd(text)))?.[1]?.trim();
  const heading = marks.find((mark) => mark.type === 'heading');
  return title?.replace(/^(["'])(.*)\1$/, '$2') || (heading?.level === 1 ? heading.title : undefined) || undefined;
}

const maxFrontMatter = 16_384;

/** Where the text begins behind the properties at its top. */
function frontMatterEnd(text: string): number {
  if (!text.startsWith('---\n')) return 0;
  const end = text.slice(0, maxFrontMatter).indexOf('\n---\n', 3);
  return end === -1 ? 0 : end + 5;
}

/** Underlines of a heading. */
const isUnderline = (line: string): boolean => /^ {0,3}(={2,}|-{2,})[ \t]*$/.test(line);
const isTitle = (line: string): boolean => /^ {0,3}[^\s>|#*+-]/.test(line) && line.length <= 200;
const isDelimiterRow = (line: string): boolean =>
  line.length < 2000 && line.includes('-') && /^[ \t]*\|?(?:[ \t]*:?-+:?[ \t]*\|)*[ \t]*:?-*:?[ \t]*$/.test(line);

/** Without the signs of Markdown. */
function plainTitle(title: string): string {
  return title
    .slice(0, 400)
    .replace(/[ \t]+#+[ \t]*$/, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[`*]|(?<!\w)_|_(?!\w)/g, '')
    .trim();
}
