import { expect, test } from 'vitest';
import { remembered } from './loosened.ts';

function counting(most: number) {
  const made: unknown[] = [];
  const make = remembered(most, (input: unknown) => {
    made.push(input);
    return { input };
  });
  return { make, made };
}

test('equal input is worked on once, whichever object it is', () => {
  const { make, made } = counting(2);
  const first = make({ a: [1, { b: 2 }] });
  expect(make({ a: [1, { b: 2 }] })).toBe(first);
  expect(made).toHaveLength(1);
  expect(make({ a: [1, { b: 3 }] })).toEqual({ input: { a: [1, { b: 3 }] } });
  expect(made).toHaveLength(2);
});

test('what was not used for longest is forgotten', () => {
  const { make, made } = counting(2);
  for (const input of ['a', 'b', 'a', 'c', 'a', 'b']) make(input);
  expect(made).toEqual(['a', 'b', 'c', 'b']);
});

test('a value of undefined is remembered too, and an error is not', () => {
  let calls = 0;
  const make = remembered(2, (fails: boolean) => {
    calls += 1;
    if (fails) throw new Error('no');
  });
  make(false);
  make(false);
  expect(calls).toBe(1);
  expect(() => make(true)).toThrow('no');
  expect(() => make(true)).toThrow('no');
  expect(calls).toBe(3);
});

test('what is very large is made each time', () => {
  const { make, made } = counting(2);
  const large = 'x'.repeat(1_000_001);
  make(large);
  make(large);
  expect(made).toHaveLength(2);
});
