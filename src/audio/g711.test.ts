import { expect, test } from 'vitest';
import { decodeG711, encodeG711, type G711Law } from './g711.ts';

const laws: readonly G711Law[] = ['ulaw', 'alaw'];

test.each(laws)('G.711 %s: every byte is decoded to a sample that is encoded to the same byte', (law) => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const again = encodeG711(law, decodeG711(law, bytes));
  // µ-law has two zeros.
  const differing = [...bytes].filter((byte) => again[byte] !== byte);
  expect(differing).toEqual(law === 'ulaw' ? [0x7f] : []);
});

test.each(laws)('G.711 %s: samples come back within the step of their loudness', (law) => {
  const samples = Int16Array.from({ length: 655 }, (_, index) => -32_768 + 100 * index);
  const again = decodeG711(law, encodeG711(law, samples));
  for (const [index, sample] of samples.entries()) {
    expect(Math.abs((again[index] as number) - sample)).toBeLessThanOrEqual(Math.max(16, Math.abs(sample) / 16));
  }
});

test('G.711: has the values of the standard', () => {
  expect([...decodeG711('ulaw', Uint8Array.of(0xff, 0x80, 0x00))]).toEqual([0, 32_124, -32_124]);
  expect([...decodeG711('alaw', Uint8Array.of(0xd5, 0x55, 0xaa, 0x2a))]).toEqual([8, -8, 32_256, -32_256]);
});
