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
  const rowsRead: number[] = [];
  const context = Object.assign(memory.context, {
    logits: (row: number) => {
      const entry = memory.batch()[row];
      if (!entry?.hasLogits) throw new Error(`no logits were requested for row ${row}`);
      rowsRead.push(row);
      return successor(entry.token);
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
    rowsRead,
    /** One batch, as the loop does it. */
    step: (rows: number): readonly PromptToken[] => {
      slot.fill(rows);
      const scored = scores.read(slot);
      memory.decode();
      slot.settle();
      return scored;
    },
  };
}

const brief = (tokens: readonly PromptToken[]) => tokens.map(({ text, logprob }) => [text, logprob]);

test('PromptScores: logprob of the row before each token, none for the first', () => {
  const scored = scoring([0, 1, 3]).step(10);
  expect(brief(scored)).toEqual([
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
    const scored: PromptToken[] = [];
    for (let read = 0; read < prompt.length; read += portion) scored.push(...step(portion));
    expect(scored).toEqual(whole);
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
  const scored = scoring([0, 1, 2, 3], { front: 2 }).step(10);
  expect(scored.map(({ inPrompt }) => inPrompt)).toEqual([false, false, true, true]);
});

test('PromptScores: does not score the last row, which predicts the reply', () => {
  const { step, rowsRead } = scoring([0, 1, 2]);
  step(10);
  expect(rowsRead).toEqual([0, 1]);
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
  const scored = scores.read(slot);
  memory.decode();
  slot.settle();
  expect(brief(scored)).toEqual([['d', expected]]);
});

test('PromptScores: requests no extra rows for a reply', () => {
  const { step, slot, memory } = scoring([0, 1]);
  step(10);
  slot.append(2);
  slot.fill(10);
  expect(memory.batch().map(({ hasLogits }) => hasLogits)).toEqual([true]);
});

test('PromptScores: does not score a new text in the same slot', () => {
  const { slot, memory, step } = scoring([0, 1, 2]);
  step(10);
  slot.begin(Int32Array.of(1, 2, 3), 0);
  slot.fill(10);
  expect(memory.batch().map(({ hasLogits }) => hasLogits)).toEqual([false, false, true]);
});

test('PromptScores: an impossible token has a finite logprob', () => {
  const never = () => Float32Array.of(0, Number.NEGATIVE_INFINITY, 0, 0);
  const tokens = Int32Array.of(0, 1);
  const scores = new PromptScores(vocabulary, { tokens, front: 0 }, 4);
  const slot = { scoredRows: { from: 0, end: 1, row: 0 }, context: { logits: never } } as unknown as Slot;
  const scored = scores.read(slot);
  expect(scored[1]).toMatchObject({ logprob: -9999, rank: 4 });
  expect(JSON.parse(JSON.stringify(scored))).toEqual(scored);
});

test.each([
  [1000, 8388],
  [32_000, 262],
  [152_064, 64],
  [262_144, 64],
])('PromptScores: vocabulary of %i tokens, at most %i rows at once', (size, rows) => {
  const scores = new PromptScores({ ...vocabulary, size }, { tokens: Int32Array.of(0), front: 0 }, 0);
  expect(scores.maxRows).toBe(rows);
});
