import { expect, test } from 'vitest';
import { drafter } from './drafter.ts';
import type { DraftModel } from './model.ts';

const model = { propose: (sequence: number) => Int32Array.of(sequence, 7) } as unknown as DraftModel;
const grammar = { gbnf: 'root ::= "a"', retainState: false };
const repeating = Int32Array.of(1, 2, 3, 1, 2);
const fresh = Int32Array.of(1, 2, 3, 4, 5);

function guesses(pattern: number, draft: DraftModel | undefined, tokens: Int32Array, under?: typeof grammar) {
  const options = { draft: { amount: 2, pattern, model: undefined } };
  const made = drafter({ options, context: { memory: 'plain' }, draft }, { grammar: under }, 5);
  return made && [...made(tokens, tokens.length, 9)];
}

test('the text is looked through first, and the model asked where it has nothing', () => {
  expect(guesses(2, model, repeating)).toEqual([3, 1]);
  expect(guesses(2, model, fresh)).toEqual([5, 7]);
  expect(guesses(0, model, repeating)).toEqual([5, 7]);
});

test('the model is not asked under a grammar', () => {
  expect(guesses(0, model, fresh, grammar)).toBeUndefined();
  expect(guesses(2, model, fresh, grammar)).toEqual([]);
});

test('nobody guesses where nothing asks for it or wrong guesses stay', () => {
  expect(
    drafter({ options: { draft: undefined }, context: { memory: 'plain' }, draft: undefined }, { grammar: undefined }),
  ).toBe(undefined);
  const options = { draft: { amount: 2, pattern: 2, model: undefined } };
  expect(drafter({ options, context: { memory: 'state' }, draft: model }, { grammar: undefined })).toBeUndefined();
});
