import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { defaultSettings } from '../../config/flags.ts';
import type { MusicRequest } from '../../core/music.ts';
import { musicOptions, songTask } from './messages.ts';

const request: MusicRequest = {
  caption: 'calm piano',
  lyrics: undefined,
  bpm: undefined,
  seconds: 10,
  keyScale: undefined,
  timeSignature: undefined,
  language: 'en',
  seed: 7,
  planner: { temperature: 0.9, topP: 0.9, topK: 50, guidance: 3 },
  codes: [],
  steps: 8,
  shift: 3,
  guidance: 1,
  stereo: true,
  format: 'wav',
};

test('songTask: without lyrics the driver writes the song', () => {
  const { sampling, job } = songTask(request);
  expect(sampling).toEqual({ inferenceSteps: 8, shift: 3 });
  expect(job).toMatchObject({ input: 'calm piano', lyrics: '', simpleMode: true, duration: 10, lmTopK: 50 });
});

test('songTask: with lyrics or codes there is nothing to write', () => {
  expect(songTask({ ...request, lyrics: 'La la' }).job).toMatchObject({ lyrics: 'La la', simpleMode: false });
  expect(songTask({ ...request, codes: [1] })).toMatchObject({ job: { simpleMode: false }, codes: [1] });
});

test('musicOptions: files by their names in the driver, and the name of the diffusion model', () => {
  const settings = {
    ...defaultSettings,
    musicllm: 'l',
    musicembeddings: 'e',
    musicdiffusion: 'a/d.gguf',
    musicvae: 'v',
  };
  expect(musicOptions({ ...settings, usecpu: true, musiclowvram: true }, 3)).toEqual({
    facts: { name: 'd' },
    files: {
      lmModelPath: resolve('l'),
      textEncModelPath: resolve('e'),
      ditModelPath: resolve('a/d.gguf'),
      vaeModelPath: resolve('v'),
    },
    threads: 3,
    gpu: false,
    lowMemory: true,
  });
});
