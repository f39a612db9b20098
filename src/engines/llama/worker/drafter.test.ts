import { expect, test } from 'vitest';
import type { DraftModel } from './draft/model.ts';
import { drafter } from './drafter.ts';

const model = { propose: (sequence: number) => Int32Array.of(sequence, 7) } as unknown as DraftModel;
const grammar = { gbnf: 'root ::= "a"', retainState: false };
const repeating = Int32Array.of(1, 2, 3, 1, 2);
const fresh = Int32Array.of(1, 2, 3, 4, 5);

const options = (pattern: number, deterministic = false) => {
  return { draft: { amount: 2, pattern, model: undefined }, deterministic };
};

function guesses(pattern: number, draft: DraftModel | undefined, tokens: Int32Array, under?: typeof grammar) {
  const loaded = { options: options(pattern), context: { memory: 'plain' as const }, draft };
  const made = drafter(loaded, { grammar: under }, 5);
  return made && [...made(tokens, tokens.length, 9)];
}

test('the text is looked through first, and the model asked where it has nothing', () => {
  expect(guesses(2, model, repeating)).toEqual([3, 1]);
  expect(guesses(2, model, fresh)).toEqual([5, 7]);
});

test('the model is asked about the sequence that is guessed for', () => {
  expect(guesses(0, model, repeating)).toEqual([5, 7]);
});

test('the model is not asked under a grammar', () => {
  expect(guesses(0, model, fresh, grammar)).toBeUndefined();
  expect(guesses(2, model, fresh, grammar)).toEqual([]);
});

test.each([
  ['where nothing asks for it', { draft: undefined, deterministic: false }, 'plain'],
  ['where wrong guesses stay', options(2), 'state'],
  ['where a text must be rounded the same every time', options(2, true), 'plain'],
] as const)('nobody guesses %s', (_, given, memory) => {
  expect(drafter({ options: given, context: { memory }, draft: model }, { grammar: undefined }, 0)).toBeUndefined();
});
