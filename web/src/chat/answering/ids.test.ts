import { expect, test } from 'vitest';
import { newId } from './ids.ts';

test('ids are of one length, of letters and figures, and never the same', () => {
  const ids = Array.from({ length: 2000 }, newId);
  expect(new Set(ids).size).toBe(2000);
  for (const id of ids) expect(id).toMatch(/^[0-9a-z]{18}$/);
});
