import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI, { toFile } from 'openai';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { spoken } from '../../bench/spoken.ts';
import { wavFile } from '../../src/audio/testing/waves.ts';
import { writeDeafWhisper } from '../models/whisper.ts';
import { runProgram } from './program.ts';
import { liveServers } from './server.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-whisper-'));
afterAll(() => rmSync(folder, { recursive: true }));
const startServer = liveServers();
const deaf = join(folder, 'ggml-deaf.bin');
/** A real model, where there is one: `ggml-base.en.bin` and its like. */
const real = process.env.PARLEY_TEST_WHISPER;
const sentence = 'We will meet at the station at seven in the evening.';
let wav: Buffer;

beforeAll(async () => {
  writeDeafWhisper(deaf);
  wav = wavFile([await spoken(sentence)], 16_000);
});

const client = (base: string) => new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });

test('--whispermodel: the model is loaded at the start', async () => {
  const server = await startServer(['--whispermodel', deaf, '--nomodel']);
  await expect.poll(() => server.output()).toMatch(/Loaded ggml-deaf for speech to text \(\d+ languages\)\./);
  const { models } = await client(server.base).get<{ models: { id: string }[] }>('/audio/models');
  expect(models.map(({ id }) => id)).toContain('ggml-deaf');
  const request = client(server.base).audio.transcriptions.create({
    model: 'x',
    file: await toFile(wav, 'a.wav'),
    language: 'klingon',
  });
  await expect(request).rejects.toMatchObject({ status: 400 });
});

test.each([
  ['no such file', join(folder, 'nowhere.bin'), 2, 'nowhere.bin'],
  ['a file of something else', join(folder, 'text.bin'), 3, 'it is no Whisper model of whisper.cpp'],
  ['half of a model', join(folder, 'half.bin'), 3, 'could not be loaded'],
])('--whispermodel %s: ends the start with a message', async (_, path, code, sentence) => {
  writeFileSync(join(folder, 'text.bin'), 'not a model at all, but long enough to have a head of its own');
  writeFileSync(join(folder, 'half.bin'), readFileSync(deaf).subarray(0, 5_000_000));
  const result = await runProgram(['--whispermodel', path, '--nomodel', '--port', '0']);
  expect(result.stdout + result.stderr).toContain(sentence);
  expect(result.code).toBe(code);
});

test.skipIf(!real)('real Whisper model: transcribes with word timestamps, also after a disconnect', async () => {
  const server = await startServer(['--whispermodel', real ?? '', '--nomodel']);
  const controller = new AbortController();
  const cancelled = client(server.base).audio.transcriptions.create(
    { model: 'x', file: await toFile(wav, 'a.wav') },
    { signal: controller.signal },
  );
  setTimeout(() => controller.abort(), 500);
  await expect(cancelled).rejects.toThrow();
  const request = { model: 'x', file: await toFile(wav, 'a.wav'), response_format: 'verbose_json' } as const;
  const transcript = await client(server.base).audio.transcriptions.create({
    ...request,
    timestamp_granularities: ['word'],
  });
  expect(transcript.text.toLowerCase()).toContain('meet at the station at');
  expect(transcript.words?.map(({ word }) => word)).toContain('station');
});
