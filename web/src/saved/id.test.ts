import { expect, test } from 'vitest';
import { newId } from './id.ts';

test('newId: returns 12 letters and digits, different each time', () => {
  const ids = Array.from({ length: 2000 }, newId);
  expect(new Set(ids).size).toBe(2000);
  for (const id of ids) expect(id).toMatch(/^[a-z0-9]{12}$/);
});
