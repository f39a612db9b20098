import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import sharp from 'sharp';
import { afterAll, expect, test } from 'vitest';
import { decodeAudio } from '../../src/audio/decode.ts';
import { flacFile, mp3File, mp4Of, mp4WithAac, opusFile, webmOf } from '../../src/audio/testing/encoded.ts';
import { monoSamples, sine, wavFile } from '../../src/audio/testing/waves.ts';
import type { ImageEdit } from '../../src/core/image-editing.ts';
import { spawnChild } from '../../src/engines/host/child.ts';
import { ImageEditorHost } from '../../src/engines/image-editing/host.ts';
import { describeGguf, quantizationOf } from '../../src/gguf/describe.ts';
import { GgufError, readGguf } from '../../src/gguf/gguf.ts';
import { engineTimer } from '../../src/models/lifecycle.ts';
import { embeddedModel, program } from '../live/server.ts';
import { damaged, damages } from './damage.ts';
import { timeout, tryAll } from './try-all.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-fuzz-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('gguf: a damaged header is read or refused with a sentence', { timeout }, async () => {
  const { fileSize, dataOffset } = await readGguf(embeddedModel);
  const whole = readFileSync(embeddedModel).subarray(0, dataOffset);
  const path = join(folder, 'damaged.gguf');
  const random = fc
    .uint8Array({ maxLength: 400 })
    .map((bytes) => Buffer.concat([Buffer.from('GGUF\x03\0\0\0'), bytes]));
  const file = fc.oneof(
    { weight: 6, arbitrary: damages.map((all) => damaged(whole, all, 2000)) },
    { weight: 2, arbitrary: damages.map((all) => damaged(whole, all, 400_000)) },
    random,
  );
  await tryAll(
    'gguf',
    fc.tuple(file, fc.constantFrom(undefined, Number.POSITIVE_INFINITY)),
    async ([bytes, entries]) => {
      writeFileSync(path, bytes);
      // The weights themselves are not read.
      if (bytes.length > 1000) truncateSync(path, fileSize);
      try {
        const header = await readGguf(path, entries === undefined ? {} : { arrayEntries: entries });
        expect(describeGguf(header)).toEqual(expect.any(String));
        quantizationOf(header);
      } catch (error) {
        expect(error).toBeInstanceOf(GgufError);
        expect((error as Error).message).toMatch(/^[A-Z].*\.$/s);
      }
    },
  );
});

test('audio: a damaged recording gives samples or a refusal', { timeout }, async () => {
  const tone = [sine(440, 16_000, 0.3)];
  const opus = await opusFile(tone, 16_000);
  const mp3 = await mp3File(tone, 16_000);
  const flac = await flacFile(tone, 16_000);
  const files: Readonly<Record<string, Uint8Array>> = {
    wav: wavFile(tone, 16_000),
    mp3,
    flac,
    ogg: opus,
    webm: await webmOf(opus),
    mp4: await mp4Of(opus),
    'mp3 in mp4': await mp4Of(mp3),
    aac: await mp4WithAac([Uint8Array.of(0x21, 0x10, 0x04), Uint8Array.of(0x21, 0x10, 0x04)]),
    tagged: Buffer.concat([Buffer.from('ID3\x04\x00\x00\x00\x00\x01\x00'), Buffer.alloc(128), mp3]),
  };
  const { signal } = new AbortController();
  // Without ffmpeg: its own decoders are not ours to try.
  const options = { signal, maxSeconds: 60, ffmpeg: join(folder, 'no-such-program') };
  await tryAll('audio', fc.tuple(fc.constantFrom(...Object.keys(files)), damages), async ([name, all]) => {
    const bytes = damaged(files[name] as Uint8Array, all, 300);
    const outcome = await monoSamples(decodeAudio(bytes, options), 16_000).catch((error: unknown) => error);
    if (outcome instanceof Float32Array) expect(outcome.every(Number.isFinite)).toBe(true);
    else expect(outcome).toMatchObject({ name: 'AppError', status: 400 });
  });
});

const pids = new Set<number>();
const host = new ImageEditorHost({
  entry: join(dirname(program), 'engines/image-editing/worker/main.js'),
  spawn: (entry, listeners) => {
    const child = spawnChild<never, never>(entry, listeners as never);
    pids.add(child.pid ?? 0);
    return child as never;
  },
  startTimer: engineTimer,
});
afterAll(() => host.stop());

test('pictures: a damaged picture is decoded or refused, and its process goes on', { timeout }, async () => {
  const colours = Uint8Array.from({ length: 24 * 17 * 4 }, (_, index) => (index * index * 7) % 256);
  const image = sharp(colours, { raw: { width: 24, height: 17, channels: 4 } });
  const files: Readonly<Record<string, Uint8Array>> = {
    png: await image.clone().png().toBuffer(),
    'palette png': await image.clone().png({ palette: true }).toBuffer(),
    jpeg: await image.clone().jpeg().toBuffer(),
    'progressive jpeg': await image.clone().jpeg({ progressive: true }).toBuffer(),
    webp: await image.clone().webp().toBuffer(),
    'lossless webp': await image.clone().webp({ lossless: true }).toBuffer(),
    gif: await image.clone().gif().toBuffer(),
    tiff: await image.clone().tiff().toBuffer(),
  };
  const edit = fc.constantFrom<ImageEdit>(
    { type: 'encode', format: 'jpeg', quality: 80 },
    { type: 'fit', size: { width: 16, height: 16 }, fit: 'cover' },
    { type: 'mask', size: { width: 8, height: 8 }, fit: 'contain', inverted: true, all: false },
    { type: 'colours' },
  );
  await tryAll(
    'pictures',
    fc.tuple(fc.constantFrom(...Object.keys(files)), damages, edit),
    async ([name, all, one]) => {
      const bytes = damaged(files[name] as Uint8Array, all, 200);
      const outcome = await host.edit(one, [{ bytes, field: 'image' }]).catch((error: unknown) => error);
      if (outcome instanceof Error) expect(outcome).toMatchObject({ name: 'AppError', status: 400 });
      else expect(outcome === undefined || outcome instanceof Uint8Array).toBe(true);
    },
  );
  expect(pids.size).toBe(1);
});
