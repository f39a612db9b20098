import decodeFlac from '@audio/decode-flac';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeAudio } from './decode.ts';
import { flacParts } from './decode-flac.ts';
import { flacFile, quietFlac } from './testing/encoded.ts';
import { monoSamples, sameSamples } from './testing/waves.ts';

const headBytes = 42;
const noise = (length: number) => Float32Array.from({ length }, (_, index) => Math.sin(index * index) * 0.9);

test('flacParts: bounds the samples per part, however few bytes they have', () => {
  const parts = [...flacParts(quietFlac({ frames: 50 }).subarray(headBytes))];
  expect(parts).toHaveLength(25);
  for (const part of parts) expect([...part.subarray(0, 2)]).toEqual([0xff, 0xf8]);
});

test('flacParts: the parts are the file, for any bytes', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(0xff, 0xf8, 0xf9, 0, 0x10, 0x69, 0x08), { maxLength: 400 }), (values) => {
      const bytes = Uint8Array.from(values);
      expect(Buffer.concat([...flacParts(bytes)]).equals(bytes)).toBe(true);
    }),
  );
});

test('flacParts: bounds the frames per part', () => {
  const parts = [...flacParts(quietFlac({ frames: 1000, block: 1 }).subarray(headBytes))];
  expect(Math.max(...parts.map(({ length }) => length))).toBeLessThan(1024);
});

test('decodeAudio: FLAC gives the same samples as its decoder for the whole file', async () => {
  const signal = new AbortController().signal;
  for (const rate of [16_000, 44_100]) {
    const file = await flacFile([noise(rate * 5)], rate);
    const whole = await decodeFlac(file);
    const samples = await monoSamples(decodeAudio(file, { signal, maxSeconds: 60 }), rate);
    expect(samples).toHaveLength(rate * 5);
    expect(sameSamples(samples, whole.channelData[0] as Float32Array)).toBe(true);
  }
});
