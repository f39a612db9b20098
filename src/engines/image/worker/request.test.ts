import { expect, test } from 'vitest';
import { chosenName } from './request.ts';

const names = ['Euler', 'Euler a', 'Heun'] as const;
const chosen = (asked: string) => chosenName('sampler', asked, [...names] as ['Euler', 'Euler a', 'Heun']);

test('chosenName: ignores spelling', () => {
  expect(['Euler', 'euler', 'k_euler', ' EULER '].map((asked) => chosen(asked))).toEqual(
    Array(4).fill({ name: 'Euler' }),
  );
  expect(['Euler a', 'euler_a', 'Euler-A', 'k_euler_a'].map((asked) => chosen(asked).name)).toEqual(
    Array(4).fill('Euler a'),
  );
});

test('chosenName: gives the first name without a note if the choice is open', () => {
  expect(['', 'Automatic', 'default'].map((asked) => chosen(asked))).toEqual(Array(3).fill({ name: 'Euler' }));
});

test('chosenName: gives the first name with a note for an unknown one', () => {
  expect(chosen('DPM++ 2M')).toEqual({ name: 'Euler', note: 'There is no sampler "DPM++ 2M"; Euler was taken.' });
  expect(chosen('x'.repeat(5000)).note?.length).toBeLessThan(120);
});
