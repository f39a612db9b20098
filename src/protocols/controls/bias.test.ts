import fc from 'fast-check';
import { expect, test } from 'vitest';
import { joinBiases } from './bias.ts';
import { readControls } from './decode.ts';

function decodeBias(body: object) {
  const controls = readControls({ ...body });
  return joinBiases(controls.logit_bias, controls.custom_token_bans);
}

test.each([
  [{}, []],
  [{ logit_bias: null, custom_token_bans: null }, []],
  [
    { logit_bias: { 5: -3, ' 7 ': '0.5' } },
    [
      [5, -3],
      [7, 0.5],
    ],
  ],
  [
    { logit_bias: { 5: 500, 6: -500 } },
    [
      [5, 100],
      [6, -100],
    ],
  ],
  [{ logit_bias: { '-1': 3 } }, []],
  [
    { custom_token_bans: '1, 2,,3' },
    [
      [1, -100],
      [2, -100],
      [3, -100],
    ],
  ],
  [{ custom_token_bans: '' }, []],
  [{ custom_token_bans: '-1' }, []],
])('%j decodes to %j', (body, expected) => {
  expect(decodeBias(body)).toEqual(expected);
});

test('a ban wins over a bias for the same token', () => {
  expect(decodeBias({ logit_bias: { 5: 50 }, custom_token_bans: '5' })).toEqual([[5, -100]]);
});

test('the first 512 entries count', () => {
  const many = Object.fromEntries(Array.from({ length: 600 }, (_, token) => [String(token), 1]));
  expect(decodeBias({ logit_bias: many })).toHaveLength(512);
});

test.each([
  [{ logit_bias: [[5, 1]] }, 'logit_bias must be an object from token numbers to numbers.'],
  [{ logit_bias: 'x' }, 'logit_bias must be'],
  [{ logit_bias: { word: 1 } }, 'logit_bias must be'],
  [{ logit_bias: { 5: 'much' } }, 'logit_bias must be'],
  [{ logit_bias: { 1.5: 1 } }, 'logit_bias must be'],
  [{ custom_token_bans: 'one,two' }, 'custom_token_bans must be token numbers with commas between.'],
  [{ custom_token_bans: 5 }, 'custom_token_bans must be a string.'],
])('%j is refused', (body, sentence) => {
  expect(() => decodeBias(body)).toThrow(sentence);
});

test('whatever is read stays within what a sampler takes', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.nat(1e6).map(String), fc.double({ noNaN: true })), (biases) => {
      for (const [token, bias] of decodeBias({ logit_bias: JSON.parse(JSON.stringify(biases, finite)) })) {
        expect(Number.isInteger(token)).toBe(true);
        expect(Math.abs(bias)).toBeLessThanOrEqual(100);
      }
    }),
  );
});

function finite(_: string, value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? 0 : value;
}
