import { expect, test } from 'vitest';
import type { PromptToken } from '../../../../core/events.ts';
import { fakeMemory } from '../testing/memory.ts';
import { PromptScores } from './prompt-scores.ts';
import { Slot } from './slot.ts';

const vocabulary = { size: 4, bytes: (token: number) => Uint8Array.of(97 + token) };

/** A model that finds the number after each token likeliest: its logit is 2, all others are 0. */
function successor(token: number): Float32Array {
  const logits = new Float32Array(vocabulary.size);
  logits[(token + 1) % vocabulary.size] = 2;
  return logits;
}

const total = Math.log(Math.exp(2) + 3);
const expected = expect.closeTo(2 - total, 9);
const surprise = expect.closeTo(0 - total, 9);

function scoring(prompt: readonly number[], { alternatives = 0, front = 0 } = {}) {
  const memory = fakeMemory();
  const asked: number[] = [];
  const context = Object.assign(memory.context, {
    logits: (place: number) => {
      const row = memory.batch()[place];
      if (!row?.wanted) throw new Error(`nobody asked for the logits at ${place}`);
      asked.push(place);
      return successor(row.token);
    },
  });
  const slot = new Slot(context, 0, 64);
  const tokens = Int32Array.from(prompt);
  slot.begin(tokens, 0);
  slot.scored = prompt.length - 1;
  const scores = new PromptScores(vocabulary, { tokens, front }, alternatives);
  return {
    slot,
    scores,
    memory,
    asked,
    /** One batch, as the loop does it. */
    step: (rows: number): readonly PromptToken[] => {
      slot.fill(rows);
      const told = scores.read(slot);
      memory.decode();
      slot.settle();
      return told;
    },
  };
}

const brief = (tokens: readonly PromptToken[]) => tokens.map(({ text, logprob }) => [text, logprob]);

test('PromptScores: logprob of the row before each token, none for the first', () => {
  const told = scoring([0, 1, 3]).step(10);
  expect(brief(told)).toEqual([
    ['a', null],
    ['b', expected],
    ['d', surprise],
  ]);
});

test('PromptScores: same logprobs for any batch sizes', () => {
  const prompt = [0, 1, 2, 0, 3, 3, 1];
  const whole = scoring(prompt, { alternatives: 2 }).step(10);
  for (const portion of [1, 2, 3, 6]) {
    const { step } = scoring(prompt, { alternatives: 2 });
    const told: PromptToken[] = [];
    for (let read = 0; read < prompt.length; read += portion) told.push(...step(portion));
    expect(told).toEqual(whole);
  }
});

test('PromptScores: top tokens and rank', () => {
  const [, second] = scoring([0, 3], { alternatives: 2 }).step(10);
  expect(second).toEqual({
    token: 3,
    text: 'd',
    bytes: [100],
    logprob: surprise,
    rank: 2,
    top: [
      { token: 1, text: 'b', bytes: [98], logprob: expected },
      { token: 0, text: 'a', bytes: [97], logprob: surprise },
    ],
    inPrompt: true,
  });
});

test('PromptScores: inPrompt is false before the prompt', () => {
  const told = scoring([0, 1, 2, 3], { front: 2 }).step(10);
  expect(told.map(({ inPrompt }) => inPrompt)).toEqual([false, false, true, true]);
});

test('PromptScores: does not score the last row, which predicts the reply', () => {
  const { step, asked } = scoring([0, 1, 2]);
  step(10);
  expect(asked).toEqual([0, 1]);
});

test('PromptScores: a prompt of one token is returned once', () => {
  const { step, slot } = scoring([2]);
  expect(brief(step(10))).toEqual([['c', null]]);
  slot.append(1);
  expect(step(10)).toEqual([]);
  slot.append(1);
  expect(step(10)).toEqual([]);
});

test('PromptScores: rows of an aborted batch are returned once', () => {
  const { slot, scores, memory, step } = scoring([0, 1, 2, 3]);
  expect(step(2)).toHaveLength(3);
  slot.forgetFrom(0);
  slot.fill(10);
  const told = scores.read(slot);
  memory.decode();
  slot.settle();
  expect(brief(told)).toEqual([['d', expected]]);
});

test('PromptScores: requests no extra rows for a reply', () => {
  const { step, slot, memory } = scoring([0, 1]);
  step(10);
  slot.append(2);
  slot.fill(10);
  expect(memory.batch().map(({ wanted }) => wanted)).toEqual([true]);
});

test('PromptScores: does not score a new text in the same slot', () => {
  const { slot, memory, step } = scoring([0, 1, 2]);
  step(10);
  slot.begin(Int32Array.of(1, 2, 3), 0);
  slot.fill(10);
  expect(memory.batch().map(({ wanted }) => wanted)).toEqual([false, false, true]);
});

test('PromptScores: an impossible token has a finite logprob', () => {
  const never = () => Float32Array.of(0, Number.NEGATIVE_INFINITY, 0, 0);
  const tokens = Int32Array.of(0, 1);
  const scores = new PromptScores(vocabulary, { tokens, front: 0 }, 4);
  const slot = { scoredRows: { from: 0, end: 1, place: 0 }, context: { logits: never } } as unknown as Slot;
  const told = scores.read(slot);
  expect(told[1]).toMatchObject({ logprob: -9999, rank: 4 });
  expect(JSON.parse(JSON.stringify(told))).toEqual(told);
});

test.each([
  [1000, 8388],
  [32_000, 262],
  [152_064, 64],
  [262_144, 64],
])('PromptScores: vocabulary of %i tokens, at most %i rows at once', (size, rows) => {
  const scores = new PromptScores({ ...vocabulary, size }, { tokens: Int32Array.of(0), front: 0 }, 0);
  expect(scores.rowsAtOnce).toBe(rows);
});
