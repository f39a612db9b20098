import { AppError } from '../../core/errors.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../controls/fields.ts';

/**
 * Reads one value of the request, or says where it stands and what it should have been. Stricter than the readers of
 * the native controls: this dialect's clients are typed, so that a wrong type is a mistake and no habit.
 */
export type Read<Value> = (value: unknown, field: string) => Value;

export function wrong(field: string, expected: string): AppError {
  return new AppError('invalid-field', { field, expected });
}

/** Null means the same as nothing in every field that may be left out. */
export function optional<Value>(value: unknown, field: string, read: Read<Value>): Value | undefined {
  return isAbsent(value) ? undefined : read(value, field);
}

export const readObject: Read<JsonObject> = (value, field) => {
  if (!isObject(value)) throw wrong(field, 'an object');
  return value;
};

export const readList: Read<readonly unknown[]> = (value, field) => {
  if (!Array.isArray(value)) throw wrong(field, 'an array');
  return value;
};

export const readString: Read<string> = (value, field) => {
  if (typeof value !== 'string') throw wrong(field, 'a string');
  return value;
};

export const readName: Read<string> = (value, field) => {
  if (typeof value !== 'string' || value === '') throw wrong(field, 'a string that is not empty');
  return value;
};

export const readBoolean: Read<boolean> = (value, field) => {
  if (typeof value !== 'boolean') throw wrong(field, 'true or false');
  return value;
};

export const readFinite: Read<number> = (value, field) => {
  if (typeof value !== 'number') throw wrong(field, 'a number');
  return value;
};

/** Programs without integers write `1024.0`, which is the same number in JSON; halves of a token are refused. */
export const readCount: Read<number> = (value, field) => {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw wrong(field, 'a whole number, 0 or more');
  return value;
};

export function oneOf<Choice extends string>(...choices: readonly Choice[]): Read<Choice> {
  return (value, field) => {
    const found = choices.find((choice) => choice === value);
    if (found === undefined) throw wrong(field, `one of ${choices.join(', ')}`);
    return found;
  };
}
