import { expect, test } from 'vitest';
import { decodeAudio } from './decode.ts';
import type { AudioChunk } from './decoder.ts';
import { encodeSong, type SongOptions } from './encode.ts';

const rate = 48_000;
/** A second and a half; the right channel is the left one upside down. */
const song = Int16Array.from({ length: 3 * rate }, (_, index) => {
  const value = Math.round(12_000 * Math.sin((index >> 1) / 20));
  return index % 2 === 0 ? value : -value;
});

async function decoded(wanted: Omit<SongOptions, 'rate'>) {
  const pieces: Uint8Array[] = [];
  for await (const piece of encodeSong(song, { rate, ...wanted })) pieces.push(piece);
  const file = Buffer.concat(pieces);
  const chunks: AudioChunk[] = [];
  const options = { signal: new AbortController().signal, maxSeconds: 10 };
  for await (const chunk of decodeAudio(file, options)) chunks.push(chunk);
  const length = chunks.reduce((sum, { channels }) => sum + (channels[0]?.length ?? 0), 0);
  return { file, chunks, length, decodedRate: chunks[0]?.rate, channels: chunks[0]?.channels.length };
}

test('encodeSong: stereo WAV has the samples as they are', async () => {
  const { file, decodedRate, channels, length } = await decoded({ format: 'wav', stereo: true });
  expect([decodedRate, channels, length]).toEqual([rate, 2, 1.5 * rate]);
  expect(file.subarray(44).equals(Buffer.from(song.buffer))).toBe(true);
});

test('encodeSong: mono is the mean of both channels at 32 kHz', async () => {
  const { decodedRate, channels, length, chunks } = await decoded({ format: 'wav', stereo: false });
  expect([decodedRate, channels, length]).toEqual([32_000, 1, 48_000]);
  expect(Math.max(...chunks.flatMap((chunk) => [...(chunk.channels[0] ?? [])].map(Math.abs)))).toBeLessThan(0.001);
});

test('encodeSong: MP3 is stereo at 48 kHz', async () => {
  const { decodedRate, channels, length } = await decoded({ format: 'mp3', stereo: true });
  expect([decodedRate, channels]).toEqual([rate, 2]);
  expect(Math.abs(length - 1.5 * rate)).toBeLessThan(4 * 1152);
});
