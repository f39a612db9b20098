import { expect, test } from 'vitest';
import { LineRing } from './line-ring.ts';

test('lines come together from pieces, and only the last ones are kept', () => {
  const seen: string[] = [];
  const ring = new LineRing(2, (line) => seen.push(line));
  ring.push('one\ntw');
  ring.push('o\nthree\nfo');
  expect(seen).toEqual(['one', 'two', 'three']);
  expect(ring.last()).toEqual(['two', 'three', 'fo']);
});
