import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { readWhisperHeader } from './recogniser.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-whisper-header-'));
afterAll(() => rmSync(folder, { recursive: true }));

function file(bytes: Buffer): string {
  const path = join(mkdtempSync(join(folder, 'file-')), 'model.bin');
  writeFileSync(path, bytes);
  return path;
}

function head(magic: number, tokens: number): Buffer {
  const bytes = Buffer.alloc(48);
  bytes.writeUInt32LE(magic, 0);
  bytes.writeInt32LE(tokens, 4);
  return bytes;
}

test.each([
  [51_864, false],
  [51_865, true],
  [51_866, true],
])('readWhisperHeader: a model of %i tokens is multilingual: %s', async (tokens, multilingual) => {
  expect(await readWhisperHeader(file(head(0x67676d6c, tokens)))).toEqual({ multilingual });
});

test.each([
  ['nothing at all', Buffer.alloc(0)],
  ['half of a head', head(0x67676d6c, 51_864).subarray(0, 20)],
  ['a GGUF file', Buffer.concat([Buffer.from('GGUF'), Buffer.alloc(100)])],
])('readWhisperHeader: rejects %s', async (_, bytes) => {
  await expect(readWhisperHeader(file(bytes))).rejects.toThrow('it is no Whisper model of whisper.cpp');
});

test('readWhisperHeader: names the unknown vocabulary size of another GGML model', async () => {
  await expect(readWhisperHeader(file(head(0x67676d6c, 32_000)))).rejects.toThrow('32000 tokens');
});

test('readWhisperHeader: rejects a missing file', async () => {
  await expect(readWhisperHeader(join(folder, 'nowhere.bin'))).rejects.toThrow('ENOENT');
});
