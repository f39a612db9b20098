import { expect, test } from 'vitest';
import { ReasoningBudget } from './reasoning-budget.ts';

const tags = { start: [1], end: 2 };
const closing = [50, 51, 2];

/** Lets the model say 9 whenever nothing is forced. */
function generate(budget: ReasoningBudget, prompt: readonly number[], count: number, says = () => 9): number[] {
  for (const token of prompt) budget.accept(token);
  return Array.from({ length: count }, () => {
    const token = budget.forced ?? says();
    budget.accept(token);
    return token;
  });
}

test('ReasoningBudget: closes reasoning that the prompt opened once the budget is used, then forces nothing', () => {
  expect(generate(new ReasoningBudget(tags, 3, closing), [7, 1, 8], 7)).toEqual([9, 9, 50, 51, 2, 9, 9]);
});

test('ReasoningBudget: a budget of 0 closes right after the start tag', () => {
  const spoken = [4, 1];
  const budget = new ReasoningBudget(tags, 0, closing);
  expect(generate(budget, [7], 6, () => spoken.shift() ?? 9)).toEqual([4, 1, 50, 51, 2, 9]);
});

test('ReasoningBudget: forces nothing without unclosed reasoning', () => {
  expect(generate(new ReasoningBudget(tags, 0, closing), [], 3)).toEqual([9, 9, 9]);
  expect(generate(new ReasoningBudget(tags, 0, closing), [1, 5, 2], 3)).toEqual([9, 9, 9]);
});

test('ReasoningBudget: a repeated start tag does not reset the count', () => {
  expect(generate(new ReasoningBudget(tags, 4, closing), [1], 5, () => 1)).toEqual([1, 1, 1, 1, 50]);
});

test('ReasoningBudget: a later block has its own budget', () => {
  const spoken = [1, 9, 2, 1, 9, 9];
  const budget = new ReasoningBudget(tags, 2, closing);
  expect(generate(budget, [], 7, () => spoken.shift() ?? 9)).toEqual([1, 9, 2, 1, 9, 9, 50]);
});

test('ReasoningBudget: matches a start tag of several tokens only as a whole', () => {
  const long = { start: [1, 1, 3], end: 2 };
  expect(generate(new ReasoningBudget(long, 0, closing), [1, 3], 1)).toEqual([9]);
  expect(generate(new ReasoningBudget(long, 0, closing), [1, 1, 1, 3], 1)).toEqual([50]);
});

test('ReasoningBudget: a prompt past the budget gets the whole closing phrase', () => {
  expect(generate(new ReasoningBudget(tags, 1, closing), [1, 8, 50, 8], 3)).toEqual([50, 51, 2]);
});

test('ReasoningBudget.reset: back to the initial state', () => {
  const budget = new ReasoningBudget(tags, 1, closing);
  generate(budget, [1, 8], 1);
  budget.reset();
  expect(generate(budget, [1], 2)).toEqual([9, 50]);
});

test('ReasoningBudget: refuses a closing phrase without the end tag', () => {
  expect(() => new ReasoningBudget(tags, 1, [50])).toThrow(RangeError);
  expect(() => new ReasoningBudget({ start: [], end: 2 }, 1, [2])).toThrow(RangeError);
});
