import { expect, test } from 'vitest';
import * as a from '../../src/protocols/answers.ts';
import { faultOf, type Schema } from './schema.ts';

const person = a.object({ name: a.text, 'age?': a.count, 'born?': a.moment });
const resolve = (reference: string): Schema => ({ '#/person': person })[reference] ?? {};

test.each<[string, unknown, Schema, string | undefined]>([
  ['a fitting object', { name: 'Ann', age: 3 }, person, undefined],
  ['an optional member that is left out', { name: 'Ann' }, person, undefined],
  ['a required member that is left out', { age: 3 }, person, 'has no name'],
  ['an undocumented member', { name: 'Ann', size: 1 }, person, 'has the undocumented size'],
  ['a wrong type', { name: 7 }, person, '.name is not string'],
  ['a number below the minimum', { name: 'Ann', age: -1 }, person, '.age is below 0'],
  ['a date that is none', { name: 'Ann', born: 'today' }, person, '.born is not a date and time'],
  ['an entry of a list', [{ name: 'Ann' }, {}], a.list({ $ref: '#/person' }), '[1] has no name'],
  ['an open object', { name: 'Ann', size: 1 }, a.open({ name: a.text }), undefined],
  ['a map', { a: 1, b: 'x' }, a.mapOf(a.number), '.b is not number'],
  ['one of several', 'x', a.either(a.number, a.text), undefined],
  ['none of several', true, a.either(a.number, a.text), 'fits none of: is not number | is not string'],
  ['a word', 'c', a.words('a', 'b'), 'is none of ["a","b"]'],
  ['a constant', false, a.words(true), 'is not true'],
  ['null', null, a.orNull(a.text), undefined],
  ['base64', 'a b', a.base64, 'is not base64'],
  ['an exclusion', { stop: 1 }, { not: { required: ['stop'] } }, 'fits what it must not fit'],
  ['a number that is no number', Number.NaN, a.count, 'is not integer'],
])('faultOf: %s', (_, value, schema, fault) => {
  expect(faultOf(value, schema, resolve)).toBe(fault);
});

test('faultOf: throws for an unknown keyword, so that no rule of the document is skipped', () => {
  expect(() => faultOf(1, { multipleOf: 2 }, resolve)).toThrow('multipleOf');
});
