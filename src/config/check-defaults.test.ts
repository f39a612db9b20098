import { expect, test } from 'vitest';
import { gendefaultsProblems } from './check-defaults.ts';
import { imageFields, lengthFields, textFields, valueKinds } from './default-fields.ts';
import type { JsonObject, JsonValue } from './flag.ts';

const sentences = (gendefaults: JsonObject | null) => gendefaultsProblems({ gendefaults }).map((one) => one.sentence);

test('nothing said is nothing wrong', () => {
  expect(sentences(null)).toEqual([]);
  expect(sentences({})).toEqual([]);
});

/** For each kind what is right and what is not. */
const values: Readonly<Record<keyof typeof valueKinds, readonly [right: JsonValue[], wrong: JsonValue[]]>> = {
  number: [
    [0.5, -1, 7],
    ['0.5', true, [], {}],
  ],
  integer: [
    [0, -1, 40],
    [0.5, '40', true, []],
  ],
  flag: [
    [true, false, 0, 1],
    ['true', 2, []],
  ],
  text: [
    ['', 'x'],
    [1, true, ['x']],
  ],
  texts: [
    ['x', [], ['x', 'y']],
    [1, [1], { x: 1 }],
  ],
  stages: [
    [[6, 0, 1, 3, 4, 2, 5], []],
    [[7], [-1], [0.5], ['6'], '6,0', 6],
  ],
  biases: [
    [{ '15': -100, ' 7 ': 0.5 }, {}],
    [{ word: 1 }, { '15': 'x' }, [[15, 1]], 1],
  ],
  bans: [
    ['', '1,2, 3', '5,'],
    ['one', '1;2', 5, [5]],
  ],
  grammar: [
    ['root ::= "a"', { type: 'object' }],
    [1, true, ['x']],
  ],
  effort: [
    ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
    ['some', '', 1, true],
  ],
  object: [
    [{}, { a: 1 }],
    ['{}', [], 1],
  ],
  list: [
    [[], [1]],
    ['[]', {}, 1],
  ],
};

test.each([...textFields, ...imageFields])('$names.0 takes $kind and nothing else', ({ names, kind }) => {
  const [right, wrong] = values[kind];
  for (const name of names) {
    for (const value of [null, ...right]) expect(sentences({ [name]: value }), JSON.stringify(value)).toEqual([]);
    for (const value of wrong) {
      expect(sentences({ [name]: value }), JSON.stringify(value)).toEqual([
        `--gendefaults: ${name} must be ${valueKinds[kind]}, not ${JSON.stringify(value)}.`,
      ]);
    }
  }
});

test.each(lengthFields)('%s has no effect and is no reason not to start', (name) => {
  expect(sentences({ [name]: 'long' })).toEqual([]);
});

test('the spellings of image programs are held to the kind of what they mean', () => {
  expect(sentences({ 'cfg-scale': 7, sampler: 'euler' })).toEqual([]);
  expect(sentences({ 'cfg-scale': 'much' })).toEqual(['--gendefaults: cfg-scale must be a number, not "much".']);
});

test('a field that nobody knows is named, with what may have been meant', () => {
  expect(sentences({ rep_pan: 1.1 })).toEqual([
    '--gendefaults: rep_pan is not a field of a request. Did you mean rep_pen?',
  ]);
  expect(sentences({ zzzzzzzzzz: 1, toString: 1 })).toEqual([
    '--gendefaults: zzzzzzzzzz is not a field of a request.',
    '--gendefaults: toString is not a field of a request.',
  ]);
});

test('every mistake is told, and a long value is told in short', () => {
  const found = sentences({ top_k: 'x'.repeat(500), temperature: 'hot', top_p: 0.9 });
  expect(found).toHaveLength(2);
  expect(found[0]?.length).toBeLessThan(130);
});

test('wrong defaults count as wrong flags', () => {
  expect(gendefaultsProblems({ gendefaults: { top_k: 'x' } })).toMatchObject([{ exitCode: 1 }]);
});
