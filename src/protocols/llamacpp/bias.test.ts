import { expect, test } from 'vitest';
import { orElse } from '../fields.ts';
import { scriptedText } from '../testing/doubles.ts';
import { readLogitBias, resolveBias } from './bias.ts';

const resolve = (value: unknown) => resolveBias(orElse(readLogitBias, [])(value, 'logit_bias'), scriptedText([]).text);

test.each([
  [null, { logitBias: [], bannedTokens: [] }],
  [[], { logitBias: [], bannedTokens: [] }],
  [[[5, 1.5]], { logitBias: [[5, 1.5]], bannedTokens: [] }],
  [[[5, false]], { logitBias: [], bannedTokens: [5] }],
  [
    [['AB', -1]],
    {
      logitBias: [
        [65, -1],
        [66, -1],
      ],
      bannedTokens: [],
    },
  ],
  [[['AB', false]], { logitBias: [], bannedTokens: [65, 66] }],
  [
    { 5: 1.5, AB: false },
    { logitBias: [[5, 1.5]], bannedTokens: [65, 66] },
  ],
  [
    [
      [5, 1],
      [5, 2],
    ],
    { logitBias: [[5, 2]], bannedTokens: [] },
  ],
  [
    [
      [5, 1],
      [5, false],
    ],
    { logitBias: [[5, 1]], bannedTokens: [5] },
  ],
])('logit_bias: %j becomes %j', async (value, expected) => {
  expect(await resolve(value)).toEqual(expected);
});

test.each(['x', 5, [5], [[5]], [[5, 1, 2]], [[5, true]], [[5, '1']], [[1.5, 1]], [[null, 1]], { 5: 'x' }, { 5: true }])(
  'logit_bias: refuses %j',
  (value) => {
    expect(() => readLogitBias(value, 'logit_bias')).toThrow('logit_bias must be pairs of a token number or a text');
  },
);
