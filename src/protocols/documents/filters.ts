import type { Attributes, Filter } from '../../core/documents.ts';
import type { JsonSchema } from '../../core/fidelity.ts';
import * as f from '../fields.ts';

const comparisons = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte'] as const;
const memberships = ['in', 'nin'] as const;
const compounds = ['and', 'or'] as const;
const readType = f.oneOf(...comparisons, ...memberships, ...compounds);

const maxDepth = 8;
const maxFilters = 100;
const filterSchema: JsonSchema = {
  type: 'object',
  properties: { type: { enum: [...comparisons, ...memberships, ...compounds] } },
  required: ['type'],
};

/** A filter in the grammar of OpenAI: comparisons of attributes, joined by `and` and `or`. */
export const readFilter: f.Read<Filter> = f.described(filterSchema, (value, path) => {
  let left = maxFilters;
  const read = (sent: unknown, at: string, depth: number): Filter => {
    left -= 1;
    if (left < 0) throw f.wrong(path, `at most ${maxFilters} comparisons`);
    if (depth > maxDepth) throw f.wrong(path, `nested at most ${maxDepth} deep`);
    const filter = f.readObject(sent, at);
    const type = f.readAt(filter, 'type', at, readType);
    if (isOneOf(compounds, type)) {
      const inner = f.readAt(filter, 'filters', at, f.readList);
      return { type, filters: inner.map((each, index) => read(each, `${at}.filters[${index}]`, depth + 1)) };
    }
    const key = f.readAt(filter, 'key', at, f.readName);
    if (isOneOf(memberships, type)) return { type, key, value: f.readAt(filter, 'value', at, f.listOf(readScalar)) };
    return { type, key, value: f.readAt(filter, 'value', at, readScalar) };
  };
  return read(value, path, 1);
});

const readScalar = f.reader<string | number | boolean>(
  'a string, a number or a boolean',
  (value) => ['string', 'number', 'boolean'].includes(typeof value),
  { type: ['string', 'number', 'boolean'] },
);

function isOneOf<Word extends string>(words: readonly Word[], word: string): word is Word {
  return (words as readonly string[]).includes(word);
}

const maxPairs = 16;
const maxKey = 64;
const maxText = 512;

/** What a client attaches to a file. */
export const readAttributes: f.Read<Attributes> = f.described(
  { type: 'object', additionalProperties: { type: ['string', 'number', 'boolean'] } },
  (value, path) => pairs(value, path, readScalar),
);

/** What a client attaches to a collection. */
export const readMetadata: f.Read<Readonly<Record<string, string>>> = f.described(
  { type: 'object', additionalProperties: { type: 'string' } },
  (value, path) => pairs(value, path, f.readText),
);

function pairs<Value>(value: unknown, path: string, read: f.Read<Value>): Readonly<Record<string, Value>> {
  const entries = Object.entries(f.readObject(value, path));
  if (entries.length > maxPairs) throw f.wrong(path, `at most ${maxPairs} pairs`);
  return Object.fromEntries(
    entries.map(([key, sent]) => {
      if (key === '' || key.length > maxKey) throw f.wrong(path, `with keys of 1 to ${maxKey} characters`);
      const own = read(sent, `${path}.${key}`);
      if (typeof own === 'string' && own.length > maxText) {
        throw f.wrong(`${path}.${key}`, `at most ${maxText} characters long`);
      }
      return [key, own];
    }),
  );
}
