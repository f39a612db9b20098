import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../controls/fields.ts';

/**
 * The dialect's own fields are read strictly, unlike the native controls beside them: its clients are typed, so that a
 * wrong type is a mistake which they want to be told. Null means absent for every optional field.
 */
export function optionalNumber(body: JsonObject, field: string): number | undefined {
  const value = body[field];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'number') throw wrong(field, 'a number');
  return value;
}

export function optionalInteger(body: JsonObject, field: string): number | undefined {
  const value = optionalNumber(body, field);
  if (value !== undefined && !Number.isInteger(value)) throw wrong(field, 'a whole number');
  return value;
}

export function optionalFlag(body: JsonObject, field: string): boolean | undefined {
  const value = body[field];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'boolean') throw wrong(field, 'true or false');
  return value;
}

export function optionalText(body: JsonObject, field: string, path = field): string | undefined {
  const value = body[field];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'string') throw wrong(path, 'a string');
  return value;
}

export function optionalObject(body: JsonObject, field: string, path = field): JsonObject | undefined {
  const value = body[field];
  if (isAbsent(value)) return undefined;
  if (!isObject(value)) throw wrong(path, 'an object');
  return value;
}

export function optionalList(body: JsonObject, field: string, path = field): readonly unknown[] | undefined {
  const value = body[field];
  if (isAbsent(value)) return undefined;
  if (!Array.isArray(value)) throw wrong(path, 'an array');
  return value;
}

export function requiredText(body: JsonObject, field: string, path: string): string {
  const value = optionalText(body, field, path);
  if (value === undefined || value === '') throw wrong(path, 'a string that is not empty');
  return value;
}

export function wrong(field: string, expected: string): AppError {
  return new AppError('invalid-field', { field, expected });
}
