import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../controls/fields.ts';

/**
 * Readers for this dialect's own fields: null means absent, and a wrong type is refused with the name of the field.
 * `at` is where the object stands in the body.
 */
export function optionalText(body: JsonObject, field: string, at = ''): string | undefined {
  return optional(body, field, at, 'a string', (value) => typeof value === 'string');
}

export function optionalFlag(body: JsonObject, field: string, at = ''): boolean | undefined {
  return optional(body, field, at, 'true or false', (value) => typeof value === 'boolean');
}

export function optionalNumber(body: JsonObject, field: string, at = ''): number | undefined {
  return optional(body, field, at, 'a number', (value) => typeof value === 'number' && Number.isFinite(value));
}

export function optionalInteger(body: JsonObject, field: string, at = ''): number | undefined {
  return optional(body, field, at, 'an integer', Number.isInteger);
}

export function optionalObject(body: JsonObject, field: string, at = ''): JsonObject | undefined {
  return optional(body, field, at, 'an object', isObject);
}

export function optionalList(body: JsonObject, field: string, at = ''): readonly unknown[] | undefined {
  return optional(body, field, at, 'an array', Array.isArray);
}

export function requiredText(body: JsonObject, field: string, at: string): string {
  const value = optionalText(body, field, at);
  if (value === undefined) throw invalid(placeOf(field, at), 'a string');
  return value;
}

/** One of a few words. */
export function optionalWord<const Word extends string>(
  body: JsonObject,
  field: string,
  words: readonly [Word, ...Word[]],
  at = '',
): Word | undefined {
  const list = words.map((word) => `"${word}"`).join(' or ');
  return optional(body, field, at, list, (value) => (words as readonly unknown[]).includes(value));
}

export function invalid(field: string, expected: string): AppError {
  return new AppError('invalid-field', { field, expected });
}

function optional<Value>(
  body: JsonObject,
  field: string,
  at: string,
  expected: string,
  is: (value: unknown) => boolean,
): Value | undefined {
  const value = body[field];
  if (isAbsent(value)) return undefined;
  if (!is(value)) throw invalid(placeOf(field, at), expected);
  return value as Value;
}

function placeOf(field: string, at: string): string {
  return at === '' ? field : `${at}.${field}`;
}
