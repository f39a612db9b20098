import fc from 'fast-check';
import { expect, test } from 'vitest';
import { inSlices } from '../core/slices.ts';
import { jsonBytes } from './json-bytes.ts';

const written = async (text: string) => Buffer.concat(await inSlices(jsonBytes(text))).toString();

test('any text is written as the language itself writes it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: 'binary' }), async (text) => {
      expect(await written(text)).toBe(JSON.stringify(text));
    }),
  );
});

test.each([0, 1, 2, 3])('a character of two halves is whole wherever a slice ends (%i before it)', async (before) => {
  const text = 'x'.repeat(before) + '🦜'.repeat(20_000);
  expect(await written(text)).toBe(JSON.stringify(text));
});

test('half a character alone is written as an escape, also at the end of a slice', async () => {
  const text = `${'x'.repeat(16_383)}\ud83e${'y'.repeat(20_000)}\udd9c`;
  expect(await written(text)).toBe(JSON.stringify(text));
});

test('others are let in every few thousand characters', () => {
  expect([...jsonBytes('a'.repeat(1_000_000))].length).toBeGreaterThan(50);
});
