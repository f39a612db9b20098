import { describe, expect, test } from 'vitest';
import { type SpeechFormat, speechFormats } from '../core/speech.ts';
import { type EncodeOptions, openEncoder } from './encode.ts';
import { decoded, loudness, type Sound, seconds } from './testing/decoded.ts';

const tone = (rate: number, seconds: number, frequency = 440, volume = 0.5): Float32Array =>
  Float32Array.from(
    { length: Math.round(rate * seconds) },
    (_, index) => volume * Math.sin((2 * Math.PI * frequency * index) / rate),
  );

/** All bytes, and how many of them were out before the end. */
async function encoded(
  format: SpeechFormat,
  pieces: readonly Float32Array[],
  { rate = 16_000, streamed = true }: Partial<EncodeOptions> = {},
) {
  const encoder = await openEncoder(format, { rate, streamed });
  const parts = pieces.map((piece) => encoder.encode(piece));
  const early = parts.map(({ length }) => length);
  parts.push(encoder.finish());
  encoder.close();
  return { bytes: new Uint8Array(Buffer.concat(parts)), early };
}

/** How often it comes up from below, each second: the frequency of a tone. Hiss in a pause does not count. */
function pitch(sound: Sound): number {
  let rises = 0;
  let below = false;
  for (const sample of sound.samples) {
    if (sample < -0.1) below = true;
    if (sample < 0.1 || !below) continue;
    below = false;
    rises++;
  }
  return rises / seconds(sound);
}

describe.each(speechFormats)('%s', (format) => {
  test.each([8000, 16_000, 22_050, 24_000])('keeps the audio at %i Hz', async (rate) => {
    const said = tone(rate, 1.5);
    const { bytes } = await encoded(format, [said], { rate });
    const sound = await decoded(format, bytes);
    // The MP3 decoder plays mono on both sides.
    expect(sound.channels).toBe(format === 'mp3' ? 2 : 1);
    // Codecs work in frames: the last one is filled up.
    expect(seconds(sound)).toBeGreaterThanOrEqual(1.499);
    expect(seconds(sound)).toBeLessThan(1.7);
    expect(loudness(sound)).toBeGreaterThan(0.3);
    expect(loudness(sound)).toBeLessThan(0.4);
    expect(pitch(sound)).toBeGreaterThan(390);
    expect(pitch(sound)).toBeLessThan(460);
  });

  test('returns bytes incrementally', async () => {
    const pieces = Array.from({ length: 5 }, () => tone(16_000, 1));
    const { bytes, early } = await encoded(format, pieces);
    expect(early.filter((length) => length > 0)).toHaveLength(5);
    expect(early.reduce((sum, length) => sum + length, 0)).toBeGreaterThan(0.9 * bytes.length);
  });

  test('has the same duration for any chunking', async () => {
    const said = tone(16_000, 1);
    const cut = [said.subarray(0, 1), said.subarray(1, 777), said.subarray(777)];
    const whole = await decoded(format, (await encoded(format, [said])).bytes);
    const parts = await decoded(format, (await encoded(format, cut)).bytes);
    expect(parts.samples.length).toBe(whole.samples.length);
  });

  test('clips loud samples', async () => {
    const { bytes } = await encoded(format, [tone(16_000, 0.5, 440, 3)]);
    const sound = await decoded(format, bytes);
    expect(pitch(sound)).toBeLessThan(500);
    expect(loudness(sound)).toBeGreaterThan(0.6);
  });

  test('can be closed before the end', async () => {
    const encoder = await openEncoder(format, { rate: 16_000, streamed: true });
    encoder.encode(tone(16_000, 0.5));
    encoder.close();
    expect(() => encoder.close()).not.toThrow();
  });

  test('supports a minute at once', async () => {
    const { bytes } = await encoded(format, [tone(8000, 60)], { rate: 8000 });
    expect(seconds(await decoded(format, bytes))).toBeGreaterThan(59.9);
  });

  test('can be opened many times', async () => {
    for (let round = 0; round < 12; round++) await encoded(format, [tone(16_000, 0.1)]);
  });
});

describe('openEncoder: headers and ends', () => {
  test('wav has its length if not streamed', async () => {
    const { bytes, early } = await encoded('wav', [tone(16_000, 1), tone(16_000, 1)], { streamed: false });
    expect(early).toEqual([0, 0]);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    expect(view.getUint32(40, true)).toBe(64_000);
    expect(view.getUint32(4, true)).toBe(bytes.length - 8);
    expect(seconds(await decoded('wav', bytes))).toBe(2);
  });

  test('wav has an unknown length if streamed', async () => {
    const { bytes } = await encoded('wav', [tone(16_000, 1), tone(16_000, 1)]);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    expect(view.getUint32(4, true)).toBe(0xffffffff);
    expect(view.getUint32(40, true)).toBe(0xffffffff);
    expect(bytes.length).toBe(44 + 64_000);
    expect(seconds(await decoded('wav', bytes))).toBe(2);
  });

  test('wav keeps 16 bits per sample', async () => {
    const samples = Float32Array.of(0, 1, -1, 0.5, Number.NaN, 7);
    const { bytes } = await encoded('wav', [samples], { streamed: false });
    const view = new DataView(bytes.buffer, bytes.byteOffset + 44);
    const kept = Array.from({ length: 6 }, (_, at) => view.getInt16(2 * at, true));
    expect(kept).toEqual([0, 32_767, -32_767, 16_384, 0, 32_767]);
  });

  test('mp3 is mono', async () => {
    const { bytes } = await encoded('mp3', [tone(16_000, 1)]);
    expect([bytes[0], (bytes[1] as number) >> 5, (bytes[3] as number) >> 6]).toEqual([0xff, 0b111, 0b11]);
  });

  test('pcm is 24 kHz without a header for any input rate', async () => {
    expect((await encoded('pcm', [tone(16_000, 2)])).bytes).toHaveLength(2 * 24_000 * 2);
    expect((await encoded('pcm', [tone(24_000, 2)], { rate: 24_000 })).bytes).toHaveLength(2 * 24_000 * 2);
  });

  test.each(['wav', 'flac', 'opus'] as const)('%s of nothing is still a file', async (format) => {
    const { bytes } = await encoded(format, []);
    expect(bytes.length).toBeGreaterThan(40);
  });

  test('opus loses nothing at its start and end', async () => {
    const click = new Float32Array(16_000);
    click.fill(0.8, 0, 160);
    click.fill(0.8, 15_840, 16_000);
    const { samples } = await decoded('opus', (await encoded('opus', [click])).bytes);
    expect(loudness({ samples: samples.subarray(0, 960) })).toBeGreaterThan(0.1);
    expect(loudness({ samples: samples.subarray(47_000, 48_200) })).toBeGreaterThan(0.1);
  });
});
