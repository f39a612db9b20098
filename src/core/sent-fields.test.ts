import { expect, test } from 'vitest';
import { fieldPattern, fitsPattern } from './sent-fields.ts';

test.each([
  ['cnet_image', ['cnet_*'], true],
  ['cnet', ['cnet_*'], false],
  ['lora', ['lora'], true],
  ['loras', ['lora'], false],
  ['video_end_frame', ['*_frame', 'x'], true],
  ['aXbYc', ['a*b*c'], true],
  ['aYc', ['a*b*c'], false],
  ['aa', ['aa*aa'], false],
  ['anything', ['*'], true],
  ['a.b', ['a.b'], true],
  ['aXb', ['a.b'], false],
])('fitsPattern: %s and %j: %s', (name, patterns, fits) => {
  expect(fitsPattern(name, patterns)).toBe(fits);
});

test('fieldPattern: refuses what is no name of a field', () => {
  expect(fieldPattern(' cnet_* ')).toBe('cnet_*');
  for (const text of ['', 'a b', '{}', 'x'.repeat(101)]) expect(fieldPattern(text)).toBeUndefined();
});
