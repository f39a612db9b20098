import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeWav, wavHeader } from './decode-wav.ts';
import { DurationLimit } from './decoder.ts';
import { sine, type WavShape, wavChunk, wavFile } from './testing/waves.ts';

const noLimit = new DurationLimit(Number.POSITIVE_INFINITY);

const tone = sine(440, 8000, 0.05);
const other = sine(1000, 8000, 0.05, 0.25);

function channelsOf(file: Uint8Array): { readonly channels: readonly Float32Array[]; readonly rate: number } {
  const pieces = [...decodeWav(file, noLimit)];
  const count = pieces[0]?.channels.length ?? 0;
  const channels = Array.from({ length: count }, (_, channel) =>
    Float32Array.from(pieces.flatMap((piece) => [...(piece.channels[channel] ?? [])])),
  );
  return { channels, rate: pieces[0]?.rate ?? 0 };
}

function farthest(a: Float32Array | undefined, b: Float32Array): number {
  expect(a?.length).toBe(b.length);
  return b.reduce((most, sample, index) => Math.max(most, Math.abs(sample - (a?.[index] ?? 9))), 0);
}

describe('decodeWav: samples', () => {
  test.each([
    ['8 bits', { bits: 8 }, 0.02],
    ['16 bits', { bits: 16 }, 0.0001],
    ['24 bits', { bits: 24 }, 0.000001],
    ['32 bits', { bits: 32 }, 0.000001],
    ['floats', { kind: 3, bits: 32 }, 0],
    ['long floats', { kind: 3, bits: 64 }, 0],
    ['16 bits, the large end first', { bits: 16, isBig: true }, 0.0001],
    ['24 bits, the large end first', { bits: 24, isBig: true }, 0.000001],
    ['16 bits in the extensible form', { bits: 16, extensible: true }, 0.0001],
    ['floats in the extensible form', { kind: 3, bits: 32, extensible: true }, 0],
  ] as readonly [string, WavShape, number][])('reads %s', (_, shape, distance) => {
    const { channels, rate } = channelsOf(wavFile([tone, other], 8000, shape));
    expect(rate).toBe(8000);
    expect(channels).toHaveLength(2);
    expect(farthest(channels[0], tone)).toBeLessThanOrEqual(distance);
    expect(farthest(channels[1], other)).toBeLessThanOrEqual(distance);
  });

  test.each([
    ['mu-law', 7, [0xff, 0x7f, 0x80, 0x00, 0xef], [0, 0, 32_124, -32_124, 132]],
    ['A-law', 6, [0xd5, 0x55, 0xaa, 0x2a, 0x80], [8, -8, 32_256, -32_256, 5504]],
  ] as const)('of %s are read as telephones mean them', (_, kind, bytes, values) => {
    const file = wavFile([Float32Array.from(bytes)], 8000, { kind, bits: 8 });
    expect(Array.from(channelsOf(file).channels[0] ?? [], (sample) => sample * 32_768)).toEqual(values);
  });

  test('NaN becomes silence', () => {
    const file = wavFile([Float32Array.of(0.5, Number.NaN, Number.POSITIVE_INFINITY, -0.5)], 8000, {
      kind: 3,
      bits: 32,
    });
    expect(channelsOf(file).channels[0]).toEqual(Float32Array.of(0.5, 0, 0, -0.5));
  });

  test('a long file comes in chunks', () => {
    const long = new Float32Array(100_000).fill(0.5);
    const pieces = [...decodeWav(wavFile([long], 8000), noLimit)];
    expect(pieces.length).toBeGreaterThan(2);
    expect(pieces.reduce((sum, { channels }) => sum + (channels[0]?.length ?? 0), 0)).toBe(100_000);
  });

  test('rejects unsupported codecs with advice', () => {
    expect(() => wavHeader(wavFile([tone], 8000, { kind: 2, bits: 4 }))).toThrow(/samples of kind 2.*16-bit PCM/);
    expect(() => wavHeader(wavFile([tone], 8000, { kind: 85, bits: 16 }))).toThrow(/kind 85/);
  });
});

describe('wavHeader: chunks', () => {
  test('skips unknown chunks, odd ones with their padding', () => {
    const between = Buffer.concat([wavChunk('LIST', Buffer.from('odd')), wavChunk('fact', Buffer.alloc(4))]);
    expect(farthest(channelsOf(wavFile([tone], 8000, { between })).channels[0], tone)).toBeLessThan(0.0001);
  });

  test('ignores chunks after the data', () => {
    const file = Buffer.concat([wavFile([tone], 8000), wavChunk('LIST', Buffer.alloc(100, 1))]);
    expect(channelsOf(file).channels[0]).toHaveLength(tone.length);
  });

  test.each([0, 0xffffffff, 0x7fffffff])(
    'of a recorder that did not know its length (%i) go to the end',
    (dataSize) => {
      expect(channelsOf(wavFile([tone], 8000, { dataSize })).channels[0]).toHaveLength(tone.length);
    },
  );

  test('RF64 data extends to the end', () => {
    expect(channelsOf(wavFile([tone], 8000, { magic: 'RF64' })).channels[0]).toHaveLength(tone.length);
  });

  test('a truncated file is rejected with both lengths', () => {
    const file = wavFile([tone], 8000);
    expect(() => wavHeader(file.subarray(0, file.length - 100))).toThrow(
      /this WAV file is cut off: 700 of 800 bytes of sound are there/,
    );
  });

  test('rejects a missing or invalid format and missing data', () => {
    const file = wavFile([tone], 8000);
    expect(() => wavHeader(file.subarray(0, 12))).toThrow(/ends before any sound begins/);
    expect(() => wavHeader(file.subarray(0, 30))).toThrow(/within its header/);
    const nameless = Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), wavChunk('data', Buffer.alloc(8))]);
    expect(() => wavHeader(nameless)).toThrow(/tells nowhere how its sound is stored/);
    const crowd = Buffer.from(file);
    crowd.writeUInt16LE(0, 22);
    expect(() => wavHeader(crowd)).toThrow(/0 channels/);
  });
});

test('decodeWav: any bytes give samples or an AppError', () => {
  const file = wavFile([tone], 8000);
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 6 }),
      fc.nat(file.length),
      (changes, length) => {
        const broken = Buffer.from(file.subarray(0, length));
        for (const [place, value] of changes) if (place < broken.length) broken[place] = value;
        try {
          for (const { channels } of decodeWav(broken, noLimit)) expect(channels.length).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toMatchObject({ name: 'AppError', status: 400 });
        }
      },
    ),
  );
});
