import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent } from '../controls/fields.ts';

/** Unlike the controls of the native family, this one takes a number only as a number; null means absent. */
export function optionalNumber(body: JsonObject, field: string): number | undefined {
  const value = body[field];
  if (isAbsent(value)) return undefined;
  if (typeof value !== 'number') throw new AppError('invalid-field', { field, expected: 'a number' });
  return value;
}

export function optionalInteger(body: JsonObject, field: string): number | undefined {
  const value = optionalNumber(body, field);
  return value === undefined ? undefined : Math.trunc(value);
}

export function requiredText(body: JsonObject, field: string): string {
  const value = body[field];
  if (typeof value !== 'string') throw new AppError('invalid-field', { field, expected: 'a string' });
  return value;
}

export function isTokenId(value: unknown): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31;
}
