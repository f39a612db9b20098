import { expect, test } from 'vitest';
import * as s from '../../src/protocols/response-schemas.ts';
import { faultOf, type Schema } from './schema.ts';

const person = s.object({ name: s.string, 'age?': s.count, 'born?': s.dateTime });
const resolve = (reference: string): Schema => ({ '#/person': person })[reference] ?? {};

test.each<[string, unknown, Schema, string | undefined]>([
  ['a fitting object', { name: 'Ann', age: 3 }, person, undefined],
  ['an optional member that is left out', { name: 'Ann' }, person, undefined],
  ['a required member that is left out', { age: 3 }, person, 'has no name'],
  ['an undocumented member', { name: 'Ann', size: 1 }, person, 'has the undocumented size'],
  ['a wrong type', { name: 7 }, person, '.name is not string'],
  ['a number below the minimum', { name: 'Ann', age: -1 }, person, '.age is below 0'],
  ['a date that is none', { name: 'Ann', born: 'today' }, person, '.born is not a date and time'],
  ['an entry of a list', [{ name: 'Ann' }, {}], s.array({ $ref: '#/person' }), '[1] has no name'],
  ['an open object', { name: 'Ann', size: 1 }, s.looseObject({ name: s.string }), undefined],
  ['a map', { a: 1, b: 'x' }, s.record(s.number), '.b is not number'],
  ['one of several', 'x', s.union(s.number, s.string), undefined],
  ['none of several', true, s.union(s.number, s.string), 'fits none of: is not number | is not string'],
  ['a word', 'c', s.literal('a', 'b'), 'is none of ["a","b"]'],
  ['a constant', false, s.literal(true), 'is not true'],
  ['null', null, s.nullable(s.string), undefined],
  ['base64', 'a b', s.base64, 'is not base64'],
  ['an exclusion', { stop: 1 }, { not: { required: ['stop'] } }, 'fits what it must not fit'],
  ['a number that is no number', Number.NaN, s.count, 'is not integer'],
])('faultOf: %s', (_, value, schema, fault) => {
  expect(faultOf(value, schema, resolve)).toBe(fault);
});

test('faultOf: throws for an unknown keyword, so that no rule of the document is skipped', () => {
  expect(() => faultOf(1, { multipleOf: 2 }, resolve)).toThrow('multipleOf');
});
