import { isObject, tryParseJson } from '../core/json.ts';

/** The certain part of an object that was cut off: without a last key, number or word that may go on. Else empty. */
export function partialObject(json: string): Readonly<Record<string, unknown>> {
  for (const candidate of completions(json)) {
    const value = tryParseJson(candidate);
    if (value !== undefined) return isObject(value) ? value : {};
  }
  return {};
}

/** A string up to its last whole escape, with its closing quote if it has one, or a sign of the structure. */
const tokens = /"(?:[^"\\]+|\\u[\da-f]{4}|\\[^u])*("?)|[{}[\],]/gi;

/** The whole text, then with its last string closed, then without what follows its last whole value. */
function* completions(json: string): Generator<string> {
  yield json;
  const open: string[] = [];
  let whole = '';
  let closed: string | undefined;
  for (const { 0: token, 1: quote, index } of json.matchAll(tokens)) {
    closed = undefined;
    if (token === '{' || token === '[') open.push(token);
    else if (token === '}' || token === ']') open.pop();
    else if (quote !== undefined) closed = json.slice(0, index + token.length) + (quote === '' ? '"' : '');
    if (quote === undefined) whole = json.slice(0, token === ',' ? index : index + 1) + closing(open);
  }
  if (closed !== undefined) yield closed + closing(open);
  yield whole;
}

function closing(open: readonly string[]): string {
  return open
    .map((bracket) => (bracket === '{' ? '}' : ']'))
    .toReversed()
    .join('');
}
