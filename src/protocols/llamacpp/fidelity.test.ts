import { expect, test } from 'vitest';
import { llamacppFidelity } from './fidelity.ts';

test.each(llamacppFidelity)('$endpoint names each field once', ({ fields }) => {
  const names = fields.map(({ field }) => field);
  expect(new Set(names).size).toBe(names.length);
});

test.each(llamacppFidelity)('$endpoint says how it differs where it does', ({ fields }) => {
  const unsaid = fields.filter(
    ({ handling, note }) => (handling === 'approximated' || handling === 'refused') && !note,
  );
  expect(unsaid).toEqual([]);
});
