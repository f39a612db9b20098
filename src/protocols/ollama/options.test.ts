import { expect, test } from 'vitest';
import { defaultControls } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { fidelityOf, readFields } from '../fields.ts';
import { controlLimits } from '../testing/doubles.ts';
import { chatFields } from './fields.ts';
import { optionControls, readOptions as readAt, settingFields } from './options.ts';

const readOptions = (body: JsonObject) => readAt(body.options, 'options');

const base = { ...defaultControls, maxTokens: 2048 };
const control = (settings: object) => optionControls(readFields(settingFields, { ...settings }), base, controlLimits);

test('readOptions: empty without options, and without null values', () => {
  expect(readOptions({})).toEqual({});
  expect(readOptions({ options: null })).toEqual({});
  expect(readOptions({ options: { top_k: null, top_p: 0.5 } })).toEqual({ top_p: 0.5 });
});

test('readOptions: passes unknown options on', () => {
  const options = { min_tokens: 'x', toString: 1, xtc_probability: 0.5 };
  expect(readOptions({ options })).toEqual(options);
});

test.each([
  [{ options: [] }, 'options must be an object.'],
  [{ options: 'x' }, 'options must be an object.'],
  [{ options: { temperature: 'hot' } }, 'options.temperature must be a number.'],
  [{ options: { num_ctx: '4096' } }, 'options.num_ctx must be a number.'],
  [{ options: { stop: 5 } }, 'options.stop must be a string or an array of strings.'],
  [{ options: { stop: [5] } }, 'options.stop must be a string or an array of strings.'],
  [{ options: { use_mmap: 1 } }, 'options.use_mmap must be true or false.'],
])('readOptions: refuses %j by name', (body, sentence) => {
  expect(() => readOptions(body)).toThrow(sentence);
});

test('optionFields: every option is documented', () => {
  const names = fidelityOf(chatFields).map(({ field }) => field);
  for (const name of ['temperature', 'num_predict', 'num_ctx', 'stop', 'num_gpu'])
    expect(names).toContain(`options.${name}`);
});

test.each([
  [9, 9],
  [-1, 2048],
  [0, 2048],
  [-2, 4096],
  [99_999, 99_999],
])('optionControls: num_predict %d gives %d tokens', (num_predict, expected) => {
  expect(control({ num_predict }).maxTokens).toBe(expected);
});

test.each([
  [512, 512],
  [4096, undefined],
  [99_999, undefined],
  [0, undefined],
  [-1, undefined],
])('optionControls: num_ctx %d limits the context to %s', (num_ctx, expected) => {
  expect(control({ num_ctx }).maxContext).toBe(expected);
});

test.each([
  [42, 42],
  [-1, -1],
  [-7, -1],
  [0, 2 ** 31 - 1],
  [1e20, 2 ** 32 - 1],
])('optionControls: seed %d is %d', (seed, expected) => {
  expect(control({ seed }).sampling.seed).toBe(expected);
});

test('optionControls: repeat_last_n', () => {
  expect(control({ repeat_last_n: 50 }).sampling.repetitionRange).toBe(50);
  expect(control({ repeat_last_n: -1 }).sampling.repetitionRange).toBe(4096);
  expect(control({ repeat_last_n: -1, num_ctx: 512 }).sampling.repetitionRange).toBe(512);
  expect(control({ repeat_last_n: 0, repeat_penalty: 1.3, presence_penalty: 1 }).sampling).toMatchObject({
    repetitionPenalty: 1,
    presencePenalty: 0,
    frequencyPenalty: 0,
  });
});

test('optionControls: keeps what is left out', () => {
  expect(control({})).toEqual(base);
  expect(control({ temperature: null, stop: null, num_predict: null })).toEqual(base);
});

test('optionControls: moves values into their range', () => {
  expect(control({ temperature: -3 }).sampling.temperature).toBe(0);
  expect(control({ repeat_penalty: 0.9 }).sampling.repetitionPenalty).toBe(0.9);
});

test('optionControls: stop is a text or a list', () => {
  expect(control({ stop: 'x' }).stop).toEqual(['x']);
  expect(control({ stop: ['x', '', 'y'] }).stop).toEqual(['x', 'y']);
});
