import { expect, test } from 'vitest';
import { isWorthNotice } from './rules.ts';

const work = { kind: 'reply', title: 'A chat', route: { view: 'chat', id: '1' }, since: 1000 } as const;

test('isWorthNotice: long work that ends on a hidden page', () => {
  expect(isWorthNotice(work, { hidden: true, now: 9000 })).toBe(true);
});

test.each([
  ['short work', { hidden: true, now: 8999 }],
  ['a page that is looked at', { hidden: false, now: 60_000 }],
])('isWorthNotice: not %s', (_, state) => {
  expect(isWorthNotice(work, state)).toBe(false);
});
