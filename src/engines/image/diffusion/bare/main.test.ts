import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { FrameReader, type FromDriver, frame, type ToDriver } from '../../../bare/messages.ts';
import type { DriverLoad } from '../options.ts';
import type { DiffusionParams, DiffusionProgress, DiffusionTask } from '../worker/generate.ts';

type DriverMessage = FromDriver<DiffusionProgress>;

const folder = mkdtempSync(join(tmpdir(), 'parley-bare-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** A driver whose calls are in a global list; the prompt selects what it does. */
const driver = `
const log = globalThis.driverLog;
class Response {
  constructor(events, fails) { this.events = events; this.fails = fails; }
  onUpdate(listener) { this.listener = listener; return this; }
  async await() {
    for (const event of this.events) this.listener(event);
    if (this.fails === 'wait') await new Promise((_, reject) => { globalThis.driverStop = () => reject(new Error('Job cancelled')); });
    if (this.fails) throw new Error(this.fails);
  }
}
export class ImgStableDiffusion {
  constructor(parts) { this.parts = parts; log.push(['model', parts]); }
  async load() { if (this.parts.files.model === '/broken') throw new Error('not a model'); }
  async cancel() { log.push(['cancel']); globalThis.driverStop?.(); }
  async run(params) {
    log.push(['run', params]);
    const step = JSON.stringify({ step: 1, total: 2 });
    if (params.prompt === 'fail') return new Response([step], 'out of memory');
    if (params.prompt === 'empty') return new Response([step]);
    if (params.prompt === 'wait') return new Response([step], 'wait');
    return new Response([step, '{}', new Uint8Array([1, 2])]);
  }
}
export class EsrganUpscaler {
  constructor(parts) { log.push(['upscaler', parts]); }
  async load() {}
  async cancel() {}
  async upscale(bytes, options) { log.push(['upscale', bytes.length, options]); return new Response([new Uint8Array([9])]); }
}
`;
const module = join(folder, 'driver.mjs');
writeFileSync(module, driver);

const load: DriverLoad = {
  module: pathToFileURL(module).href,
  files: { model: '/m.gguf', vae: '/v.gguf' },
  config: { threads: 2 },
  upscaler: '/4x.pth',
  upscalerConfig: { device: 'cpu' },
};

const told: { message: DriverMessage; bytes: number[] }[] = [];
const log: unknown[][] = [];
const exits: number[] = [];
const heard = new Map<string, (chunk: Uint8Array) => void>();

beforeAll(async () => {
  const reader = new FrameReader<DriverMessage>((message, bytes) => told.push({ message, bytes: [...bytes] }));
  const pipe = {
    on: (event: string, listener: (chunk: Uint8Array) => void) => {
      heard.set(event, listener);
      return pipe;
    },
    write: (bytes: Uint8Array) => reader.push(bytes),
  };
  vi.stubGlobal('Bare', { IPC: pipe, exit: (code: number) => exits.push(code) });
  vi.stubGlobal('driverLog', log);
  await import('./main.ts');
});
afterAll(() => vi.unstubAllGlobals());
beforeEach(() => {
  told.length = 0;
  log.length = 0;
});

const say = (message: ToDriver<DriverLoad, DiffusionTask>, bytes?: Uint8Array) =>
  heard.get('data')?.(frame(message, bytes));
const drawing = (prompt: string): DiffusionTask => ({
  type: 'generate',
  params: { prompt, seed: 1 } as DiffusionParams,
});
const types = () => told.map(({ message }) => message.type);
const until = (type: DriverMessage['type']) => expect.poll(() => types()).toContain(type);

describe('the driver process of stable-diffusion.cpp', () => {
  test('reports why a model cannot be loaded', async () => {
    say({ type: 'load', load: { ...load, files: { model: '/broken' } } });
    await until('load-failed');
    expect(told[0]?.message).toEqual({ type: 'load-failed', reason: 'not a model' });
    say({ type: 'load', load: { ...load, module: 'file:///nowhere.mjs' } });
    await expect.poll(() => types()).toEqual(['load-failed', 'load-failed']);
  });

  test('loads the files with the configuration', async () => {
    say({ type: 'load', load });
    await until('loaded');
    expect(log).toEqual([['model', { files: load.files, config: load.config }]]);
  });

  test('sends progress and the picture', async () => {
    say({ type: 'run', id: 1, task: drawing('a boat') }, Uint8Array.of(5, 6, 7));
    await until('done');
    expect(told).toEqual([
      { message: { type: 'progress', id: 1, progress: { step: 1, steps: 2 } }, bytes: [] },
      { message: { type: 'done', id: 1 }, bytes: [1, 2] },
    ]);
    expect(log).toEqual([['run', { prompt: 'a boat', seed: 1, init_image: Uint8Array.of(5, 6, 7) }]]);
  });

  test('has no initial picture unless one is sent', async () => {
    say({ type: 'run', id: 2, task: drawing('a boat') });
    await until('done');
    expect(log).toEqual([['run', { prompt: 'a boat', seed: 1 }]]);
  });

  test('reports a failure and takes the next job', async () => {
    say({ type: 'run', id: 3, task: drawing('fail') });
    await until('failed');
    expect(told.at(-1)?.message).toEqual({ type: 'failed', id: 3, reason: 'out of memory' });
    told.length = 0;
    say({ type: 'run', id: 8, task: drawing('empty') });
    await until('failed');
    expect(told.at(-1)?.message).toEqual({ type: 'failed', id: 8, reason: 'it gave no picture' });
    say({ type: 'run', id: 4, task: drawing('a boat') });
    await until('done');
  });

  test('cancels the running job, if there is one', async () => {
    say({ type: 'cancel' });
    expect(log).toEqual([]);
    say({ type: 'run', id: 5, task: drawing('wait') });
    await until('progress');
    say({ type: 'cancel' });
    await until('failed');
    expect(told.at(-1)?.message).toEqual({ type: 'failed', id: 5, reason: 'Job cancelled' });
    expect(log.at(-1)).toEqual(['cancel']);
  });

  test('opens the upscaler once, on first use', async () => {
    for (const id of [6, 7]) {
      told.length = 0;
      say({ type: 'run', id, task: { type: 'upscale' } }, Uint8Array.of(1, 2, 3, 4));
      await until('done');
      expect(told[0]).toEqual({ message: { type: 'done', id }, bytes: [9] });
    }
    expect(log).toEqual([
      ['upscaler', { files: { esrgan: '/4x.pth' }, config: { device: 'cpu' } }],
      ['upscale', 4, { repeats: 1 }],
      ['upscale', 4, { repeats: 1 }],
    ]);
  });

  test('exits when the pipe closes', () => {
    heard.get('end')?.(new Uint8Array());
    heard.get('error')?.(new Uint8Array());
    expect(exits).toEqual([0, 0]);
  });
});
