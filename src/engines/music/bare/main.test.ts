import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { FrameReader, type FromDriver, frame, type ToDriver } from '../../bare/messages.ts';
import type { SongLoad, SongProgress, SongTask } from '../messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'parley-music-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A driver whose calls are in a global list; the caption of a song selects what it does. */
const module = join(folder, 'driver.mjs');
writeFileSync(
  module,
  `
const log = globalThis.driverLog;
export default {
  createInstance(owner, config, output) {
    log.push(['create', config.inferenceSteps, config.shift]);
    if (config.vaeModelPath === '/broken') throw new Error('VAE load failed');
    return { output };
  },
  async activate() {},
  async destroyInstance() { log.push(['destroy']); },
  async cancel({ output }) { log.push(['cancel']); output({}, 'error', null, 'generation cancelled'); },
  async runJob({ output }, job) {
    log.push(['run', job]);
    if (job.input === 'refuse') return false;
    setTimeout(() => {
      output({}, 'progress', { progressStage: 'dit', progressStep: 1, progressTotal: 2 }, null);
      if (job.input === 'wait') return;
      output({}, 'pcm', { outputArray: Int16Array.of(1, -1), sampleRate: 48000, channels: 2 }, null);
      output({}, 'stats', { totalTimeMs: 5 }, null);
    });
    return true;
  },
};
`,
);

const files = { lmModelPath: '/l', textEncModelPath: '/e', ditModelPath: '/d', vaeModelPath: '/v' };
const load: SongLoad = { module: pathToFileURL(module).href, backends: '/b', files, threads: 2, gpu: false };
const told: { message: FromDriver<SongProgress>; bytes: number[] }[] = [];
const log: unknown[][] = [];
const heard = new Map<string, (chunk: Uint8Array) => void>();

beforeAll(async () => {
  const reader = new FrameReader<FromDriver<SongProgress>>((message, bytes) =>
    told.push({ message, bytes: [...bytes] }),
  );
  const pipe = {
    on: (event: string, listener: (chunk: Uint8Array) => void) => {
      heard.set(event, listener);
      return pipe;
    },
    write: (bytes: Uint8Array) => reader.push(bytes),
  };
  vi.stubGlobal('Bare', { IPC: pipe, exit: () => undefined });
  vi.stubGlobal('driverLog', log);
  await import('./main.ts');
});
afterAll(() => vi.unstubAllGlobals());
beforeEach(() => {
  told.length = 0;
  log.length = 0;
});

const say = (message: ToDriver<SongLoad, SongTask>) => heard.get('data')?.(frame(message));
const until = (type: string) => expect.poll(() => told.map(({ message }) => message.type)).toContain(type);
const song = (input: string, inferenceSteps = 8): SongTask => ({
  sampling: { inferenceSteps, shift: 3 },
  job: { input },
  codes: [],
});

describe('the driver process of music', () => {
  test('load: reports why a model cannot be loaded', async () => {
    say({ type: 'load', load: { ...load, files: { ...files, vaeModelPath: '/broken' } } });
    await until('load-failed');
    expect(told[0]?.message).toEqual({ type: 'load-failed', reason: 'VAE load failed' });
  });

  test('run: reports progress and sends the samples', async () => {
    say({ type: 'load', load });
    await until('loaded');
    say({ type: 'run', id: 1, task: { ...song('piano'), codes: [7] } });
    await until('done');
    expect(told.slice(1)).toEqual([
      { message: { type: 'progress', id: 1, progress: { stage: 'dit', step: 1, steps: 2 } }, bytes: [] },
      { message: { type: 'done', id: 1 }, bytes: [1, 0, 255, 255] },
    ]);
    expect(log).toEqual([
      ['create', 8, 3],
      ['run', { input: 'piano', audioCodes: Int32Array.of(7) }],
    ]);
  });

  test('run: other steps need another instance', async () => {
    say({ type: 'run', id: 2, task: song('piano', 50) });
    await until('done');
    expect(log.map(([call]) => call)).toEqual(['destroy', 'create', 'run']);
  });

  test('run: a job that the driver does not accept fails', async () => {
    say({ type: 'run', id: 3, task: song('refuse', 50) });
    await until('failed');
    expect(told[0]?.message).toMatchObject({ reason: 'the engine did not accept the song' });
  });

  test('cancel: the running song fails', async () => {
    say({ type: 'run', id: 4, task: song('wait', 50) });
    await until('progress');
    say({ type: 'cancel' });
    await until('failed');
    expect(told.at(-1)?.message).toEqual({ type: 'failed', id: 4, reason: 'generation cancelled' });
  });
});
