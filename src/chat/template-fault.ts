import { attempt } from '../core/attempt.ts';
import { parse, tokens as tokensOf } from './template-runtime.ts';

interface Tag {
  readonly start: number;
  readonly text: string;
  readonly closed: boolean;
}

/** Locates a syntax error, for which the library gives only the reason. Undefined for a valid template. */
export function templateFault(source: string) {
  const tags = tagsOf(source);
  let tokens: readonly { readonly type: string }[];
  try {
    tokens = tokensOf(source) as typeof tokens;
  } catch (error) {
    return faultAt(source, tags.find(isUnreadable) ?? tags.at(-1), reasonOf(error));
  }
  let reached = 0;
  const watched = new Proxy(tokens, {
    get(list, key, receiver) {
      const index = typeof key === 'string' ? Number(key) : Number.NaN;
      if (index > reached) reached = index;
      return Reflect.get(list, key, receiver);
    },
  });
  try {
    parse(watched);
    return undefined;
  } catch (error) {
    const open = reached >= tokens.length ? unclosedBlock(tags) : undefined;
    if (open) return faultAt(source, open, 'it has no end');
    const opened = tokens.slice(0, reached + 1).filter(({ type }) => type.startsWith('Open') && tagTokens.has(type));
    return faultAt(source, tags.filter(isCode)[opened.length - 1], reasonOf(error));
  }
}

const tagTokens: ReadonlySet<string> = new Set(['OpenStatement', 'OpenExpression']);
const closings: Readonly<Record<string, string>> = { '{{': '}}', '{%': '%}', '{#': '#}' };

function tagsOf(source: string): readonly Tag[] {
  const tags: Tag[] = [];
  const opening = /\{[{%#]/g;
  for (let tag = opening.exec(source); tag; tag = opening.exec(source)) {
    const end = tag[0] === '{#' ? commentEnd(source, opening.lastIndex) : codeEnd(source, opening.lastIndex, tag[0]);
    tags.push({ start: tag.index, text: source.slice(tag.index, end), closed: end !== undefined });
    if (end === undefined) break;
    opening.lastIndex = end;
  }
  return tags;
}

function commentEnd(source: string, from: number): number | undefined {
  const end = source.indexOf('#}', from);
  return end === -1 ? undefined : end + 2;
}

/** The end of a tag, outside of its strings and objects. */
function codeEnd(source: string, from: number, opening: string): number | undefined {
  let depth = 0;
  for (let at = from; at < source.length; at += 1) {
    const character = source[at];
    if (character === '"' || character === "'") {
      at = textEnd(source, at);
    } else if (depth === 0 && source.startsWith(closings[opening] as string, at)) {
      return at + 2;
    } else if (character === '{') depth += 1;
    else if (character === '}' && depth > 0) depth -= 1;
  }
  return undefined;
}

function textEnd(source: string, from: number): number {
  for (let at = from + 1; at < source.length; at += 1) {
    if (source[at] === '\\') at += 1;
    else if (source[at] === source[from]) return at;
  }
  return source.length;
}

function isUnreadable({ text, closed }: Tag): boolean {
  return !closed || attempt(() => tokensOf(text), undefined) === undefined;
}

const isCode = ({ text }: Tag): boolean => !text.startsWith('{#');

/** The innermost block without an end; `set` is a block only where it has no value. */
function unclosedBlock(tags: readonly Tag[]): Tag | undefined {
  const open: Tag[] = [];
  for (const tag of tags) {
    const keyword = /^\{%[-+]?\s*(\w+)/.exec(tag.text)?.[1] ?? '';
    if (keyword.startsWith('end')) open.pop();
    else if (blocks.has(keyword) || (keyword === 'set' && !tag.text.includes('='))) open.push(tag);
  }
  return open.at(-1);
}

const blocks: ReadonlySet<string> = new Set(['if', 'for', 'macro', 'call', 'filter', 'generation']);
const maxLength = 60;

/** A syntax error; line and column count from 1, `near` is the beginning of the tag. */
function faultAt(source: string, tag: Tag | undefined, reason: string) {
  const before = source.slice(0, tag?.start ?? 0).split('\n');
  const [first = ''] = (tag?.text ?? '').split('\n');
  const near = first.length > maxLength ? `${first.slice(0, maxLength)}…` : first;
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1, near, reason };
}

function reasonOf(error: unknown): string {
  // The library fails with a TypeError at the end of its input.
  if (error instanceof TypeError) return 'it is not complete';
  return (error as Error).message.replace(/^Parser Error: /, '').replace(/\.$/, '');
}
