import { unreachable } from '../core/events.ts';
import { isObject } from '../core/json.ts';
import type { FlagShape, FlagValue, JsonObject, ListShape, NumberShape, Read } from './flag.ts';
import { parseLooseObject } from './loose-json.ts';

export type Reading = Read<{ readonly value: FlagValue; readonly clampedFrom?: number }>;

/** Parses values from the command line. The caller has checked their number. */
export function readTexts(shape: FlagShape, texts: readonly string[]): Reading {
  if (shape.type === 'switch') return good(true);
  if (shape.type === 'list') return readList(shape, texts);
  const [text] = texts;
  if (text !== undefined) return readScalar(shape, text);
  return 'bare' in shape && shape.bare !== undefined ? good(shape.bare) : bad(shape);
}

/** Parses a value from a config file; leniently, because files of many versions exist. */
export function readJson(shape: FlagShape, json: unknown): Reading {
  if (json === null || json === undefined) return good(shape.default);
  switch (shape.type) {
    case 'switch':
      return json === true || json === 1 ? good(true) : json === false || json === 0 ? good(false) : bad(shape);
    case 'json':
      return json === '' ? good(null) : isObject(json) ? good(json as JsonObject) : readScalar(shape, json);
    case 'list':
      // An empty list is a value only for flags that accept no values.
      if (json === '' || (Array.isArray(json) && json.length === 0 && shape.least > 0)) return good(shape.default);
      return readList(shape, [json].flat());
    case 'text':
      if ((shape.holds === 'json' || shape.holds === 'json-file') && isObject(json)) return good(JSON.stringify(json));
      if (json === '' && shape.default === null) return good(null);
      return readScalar(shape, json);
    case 'integer':
    case 'number':
      // Some of these used to be switches; off is not automatic.
      if (json === false) return good(shape.bare === undefined ? shape.default : Math.max(0, shape.default));
      if (json === true && shape.bare !== undefined) return good(shape.bare);
      return readScalar(shape, json);
    case 'choice':
      return readScalar(shape, json);
    default:
      return unreachable(shape);
  }
}

/** The end of the sentence "--flag needs …"; a switch can be wrong in a config file only. */
export function expectation(shape: FlagShape): string {
  switch (shape.type) {
    case 'switch':
      return 'true or false';
    case 'integer':
    case 'number':
      return numberExpectation(shape);
    case 'text':
      return 'a value';
    case 'choice':
      return `one of ${shape.choices.join(', ')}`;
    case 'json':
      return 'a JSON object';
    case 'list':
      return listExpectation(shape);
    default:
      return unreachable(shape);
  }
}

export function rangeText({ min, max }: Pick<NumberShape, 'min' | 'max'>): string {
  if (min !== undefined && max !== undefined) return `from ${min} to ${max}`;
  if (min !== undefined) return `not below ${min}`;
  return max === undefined ? '' : `not above ${max}`;
}

function readScalar(shape: Exclude<FlagShape, { type: 'switch' | 'list' }>, raw: unknown): Reading {
  switch (shape.type) {
    case 'integer':
    case 'number':
      return readNumber(shape, raw);
    case 'text':
      return typeof raw === 'string' || typeof raw === 'number' ? good(String(raw)) : bad(shape);
    case 'choice': {
      const word = shape.synonyms?.[String(raw)] ?? String(raw);
      return shape.choices.includes(word) ? good(word) : bad(shape);
    }
    case 'json': {
      if (typeof raw === 'string' && raw.trim() === '') return good(null);
      const object = typeof raw === 'string' ? parseLooseObject(raw) : undefined;
      return object ? good(object) : bad(shape);
    }
    default:
      return unreachable(shape);
  }
}

function readNumber(shape: NumberShape, raw: unknown): Reading {
  const value = toNumber(shape.type, raw);
  if (value === undefined || (shape.only && !shape.only.includes(value))) return bad(shape);
  const inside = Math.min(Math.max(value, shape.min ?? value), shape.max ?? Number.POSITIVE_INFINITY);
  if (inside === value) return good(value);
  return shape.clamp ? { ok: true, value: inside, clampedFrom: value } : bad(shape);
}

function toNumber(type: 'integer' | 'number', raw: unknown): number | undefined {
  const plain =
    typeof raw === 'number' || (typeof raw === 'string' && /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(raw));
  const value = plain ? Number(raw) : Number.NaN;
  if (type === 'integer') return Number.isSafeInteger(value) ? value : undefined;
  return Number.isFinite(value) ? value : undefined;
}

function readList(shape: ListShape, items: readonly unknown[]): Reading {
  if (items.length < shape.least || items.length > (shape.most ?? items.length)) return bad(shape);
  const values = items.map((item) => readItem(shape, item));
  return values.every((value) => value !== undefined) ? good(values) : bad(shape);
}

function readItem(shape: ListShape, item: unknown): string | number | undefined {
  if (shape.of === 'integer' || shape.of === 'number') return toNumber(shape.of, item);
  const text = typeof item === 'string' || typeof item === 'number' ? String(item) : undefined;
  return shape.of === 'choice' && text !== undefined && !shape.choices?.includes(text) ? undefined : text;
}

function numberExpectation(shape: NumberShape): string {
  if (shape.only) return `one of ${shape.only.join(', ')}`;
  return [shape.type === 'integer' ? 'a whole number' : 'a number', rangeText(shape)].filter(Boolean).join(' ');
}

function listExpectation(shape: ListShape): string {
  const nouns = { text: 'values', integer: 'whole numbers', number: 'numbers', choice: 'values' };
  const noun = shape.of === 'choice' ? `values out of ${shape.choices?.join(', ')}` : nouns[shape.of];
  if (shape.most === undefined) return shape.least === 0 ? noun : `one or more ${noun}`;
  return shape.least === shape.most ? `exactly ${shape.least} ${noun}` : `${shape.least} to ${shape.most} ${noun}`;
}

const good = (value: FlagValue): Reading => ({ ok: true, value });
const bad = (shape: FlagShape): Reading => ({ ok: false, expected: expectation(shape) });
