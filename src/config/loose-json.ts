import { tryParseJson } from '../core/json.ts';
import type { JsonObject } from './flag.ts';

const maxDepth = 64;

/** Parses an object as typed into a shell: without braces, with odd quotes, with `True`, `False` and `None`. */
export function parseLooseObject(text: string): JsonObject | undefined {
  return parseTokens(text) ?? parseTokens(text.replaceAll('\\"', '"').replaceAll('\\\\', '\\'));
}

/** A string in either kind of quotes, a mark, or a word: a number, a literal or a bare key. */
const tokenPattern = new RegExp(
  [
    String.raw`\s*(?:"(?<double>(?:[^"\\]|\\u[\da-fA-F]{4}|\\[^u])*)"`,
    String.raw`'(?<single>(?:[^'\\]|\\u[\da-fA-F]{4}|\\[^u])*)'`,
    String.raw`(?<mark>[{}[\]:,])`,
    String.raw`(?<word>[\w.+-]+))`,
  ].join('|'),
  'gy',
);

/** Rewrites the text as JSON, token by token. */
function parseTokens(text: string): JsonObject | undefined {
  const plain = text.trim();
  const matches = [...plain.matchAll(tokenPattern)];
  if (matches.map(([token]) => token).join('') !== plain) return undefined;
  const tokens = matches.map(({ groups }, index) => {
    const content = groups?.double ?? groups?.single;
    if (content !== undefined) return JSON.stringify(unescaped(content));
    return groups?.mark ?? wordToken(groups?.word ?? '', matches[index + 1]?.groups?.mark === ':');
  });
  if (tokens[0] !== '{') tokens.unshift('{');
  let depth = 0;
  for (const token of tokens) {
    if (/^[{[]$/.test(token)) depth += 1;
    if (/^[}\]]$/.test(token)) depth -= 1;
    if (depth > maxDepth) return undefined;
  }
  // Only the outermost brace may be missing.
  if (depth > 0) tokens.push('}');
  return tryParseJson(tokens.filter(isNeeded).join(' ')) as JsonObject | undefined;
}

const literals = new Map(Object.entries({ True: 'true', False: 'false', None: 'null' }));

function wordToken(word: string, isKey: boolean): string {
  if (isKey) return JSON.stringify(word);
  const isNumber = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(word);
  return isNumber ? String(Number(word)) : (literals.get(word) ?? word);
}

const escapes = new Map(Object.entries({ n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' }));

function unescaped(content: string): string {
  return content.replace(/\\(?:u(.{4})|(.))/gs, (_, digits?: string, character = '') =>
    digits === undefined ? (escapes.get(character) ?? character) : String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

/** A trailing comma is left out. */
function isNeeded(token: string, index: number, tokens: readonly string[]): boolean {
  const isTrailing = /^[}\]]$/.test(tokens[index + 1] ?? '') && !/^[{[]$/.test(tokens[index - 1] ?? '');
  return token !== ',' || !isTrailing;
}
