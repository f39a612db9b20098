import { expect, test } from 'vitest';
import { type FlagKey, flagOf } from './flags.ts';
import { readJson } from './value.ts';

const read = (key: FlagKey, json: unknown) => {
  const reading = readJson(flagOf(key), json);
  return reading.ok ? reading.value : reading.expected;
};

test.each<[FlagKey, unknown, unknown]>([
  ['contextsize', 4096, 4096],
  ['contextsize', '4096', 4096],
  ['contextsize', null, 16384],
  ['contextsize', 4096.5, 'a whole number from 256 to 524288'],
  ['contextsize', true, 'a whole number from 256 to 524288'],
  ['smartcache', true, 1],
  ['smartcache', false, 0],
  ['sdquant', true, 2],
  ['quiet', true, true],
  ['quiet', 0, false],
  ['quiet', 'yes', 'true or false'],
  ['quantkv', 2, 'q4_0'],
  ['quantkv', 'q5_1', 'q5_1'],
  ['lora', 'one.gguf', ['one.gguf']],
  ['lora', [], null],
  ['lora', '', null],
  ['usevulkan', [], []],
  ['usevulkan', ['0', 1], [0, 1]],
  ['usecuda', ['normal', 0], ['normal', '0']],
  ['usecuda', ['turbo'], 'values out of 0, 1, 2, 3, all, mmq, nommq, normal, lowvram, rowsplit'],
  ['ssl', [], null],
  ['ssl', ['cert'], 'exactly 2 values'],
  ['password', '', null],
  ['password', 'key', 'key'],
  ['gendefaults', '', null],
  ['gendefaults', { top_k: 1 }, { top_k: 1 }],
  ['gendefaults', "'top_k': 1", { top_k: 1 }],
  ['gendefaults', [], 'a JSON object'],
  ['chatcompletionsadapter', { user_start: 'U' }, '{"user_start":"U"}'],
  ['host', { user_start: 'U' }, 'a value'],
])('readJson: %s with %j gives %j', (key, json, expected) => {
  expect(read(key, json)).toEqual(expected);
});
