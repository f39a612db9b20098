import { describe, expect, test } from 'vitest';
import type { EmbeddingFacts } from '../../core/embedding.ts';
import { AppError, plainError } from '../../core/errors.ts';
import type { ChildExit } from '../host/child.ts';
import type { FromTaskWorker, ToTaskWorker } from '../host/task-messages.ts';
import { fakeWorkers } from '../host/testing/workers.ts';
import type { GpuBuild } from '../llama/load-options.ts';
import { type EmbeddingEvent, EmbeddingHost, type EmbeddingOptions, type EmbeddingTask, startsOver } from './host.ts';

const options: EmbeddingOptions = {
  model: { path: '/m.gguf' },
  maxTokens: 512,
  backend: 'cpu',
  gpuLayers: 0,
  devices: [],
  mainGpu: 0,
  tensorSplit: [],
  splitMode: 'layer',
  loadMode: 'auto',
  metadataOverrides: [],
  tensorOverrides: [],
  threads: 1,
  fixedThreads: false,
  flashAttention: true,
  cpuLevel: 'best',
  cpuBuild: undefined,
  skipCpuVariants: 0,
  failedGpuBuilds: [],
  memoryMarginMegabytes: 1024,
  layersBefore: undefined,
};
const facts: EmbeddingFacts = {
  dimensions: 2,
  maxTokens: 8,
  pooling: 'mean',
  architecture: 'bert',
  parameters: 1,
  sizeBytes: 1,
};
const never = new AbortController().signal;
const bytesOf = (...numbers: number[]): Uint8Array => new Uint8Array(Float32Array.from(numbers).buffer);

function world() {
  const fakes = fakeWorkers<
    ToTaskWorker<EmbeddingOptions, EmbeddingTask>,
    FromTaskWorker<EmbeddingFacts, EmbeddingEvent>
  >();
  const host = new EmbeddingHost({
    capability: 'embedding',
    entry: 'main.js',
    options,
    spawn: fakes.spawn,
    startTimer: fakes.startTimer,
  });
  host.start();
  fakes.worker().say({ type: 'loaded', facts });
  const id = () =>
    fakes
      .worker()
      .sent.flatMap((message) => (message.type === 'begin' ? [message.id] : []))
      .at(-1) ?? -1;
  return { fakes, host, id };
}

describe('EmbeddingHost: results', () => {
  test('embed splits the numbers into vectors per input', async () => {
    const { fakes, host, id } = world();
    const work = host.embed({ inputs: ['a', 'b'], truncate: false }, never);
    const figures = { counts: [1, 2], dimensions: 2, tokens: [3, 4], truncated: [1], pooling: 'none' } as const;
    const told: EmbeddingEvent = { type: 'embedded', ...figures, numbers: bytesOf(1, 2, 3, 4, 5, 6) };
    fakes.worker().say({ type: 'event', id: id(), event: told });
    fakes.worker().say({ type: 'ended', id: id() });
    expect(await work).toEqual({
      vectors: [[Float32Array.of(1, 2)], [Float32Array.of(3, 4), Float32Array.of(5, 6)]],
      tokens: [3, 4],
      truncated: [1],
      pooling: 'none',
    });
  });

  test('rank returns the scores', async () => {
    const { fakes, host, id } = world();
    const work = host.rank({ query: 'q', documents: ['d'], truncate: true }, never);
    const told = { type: 'ranked', scores: [0.5], tokens: 7, truncated: [] } as const;
    fakes.worker().say({ type: 'event', id: id(), event: told });
    fakes.worker().say({ type: 'ended', id: id() });
    expect(await work).toEqual({ scores: [0.5], tokens: 7, truncated: [] });
  });

  test('rejects with the error of the worker', async () => {
    const { fakes, host, id } = world();
    const work = host.embed({ inputs: ['a'], truncate: false }, never);
    const error = plainError(new AppError('input-too-long', { field: 'input[0]', tokens: 9, maxTokens: 8 }));
    fakes.worker().say({ type: 'failed', id: id(), error });
    await expect(work).rejects.toThrow('input[0] is too large: it has 9 tokens');
  });

  test('rejects without a result', async () => {
    const { fakes, host, id } = world();
    const work = host.embed({ inputs: ['a'], truncate: false }, never);
    fakes.worker().say({ type: 'ended', id: id() });
    await expect(work).rejects.toThrow('it gave no result');
  });

  test('rejects if the worker dies', async () => {
    const { fakes, host } = world();
    const work = host.embed({ inputs: ['a'], truncate: false }, never);
    fakes.worker().exit();
    await expect(work).rejects.toMatchObject({ code: 'engine-lost', details: { capability: 'embedding' } });
  });
});

test('EmbeddingHost: an abort stops the task with its reason', async () => {
  const { fakes, host } = world();
  const gone = new AbortController();
  const work = host.embed({ inputs: ['a'], truncate: false }, gone.signal);
  gone.abort(new Error('left'));
  const [begun] = fakes.worker().sent.filter(({ type }) => type === 'begin');
  const { id } = begun as { id: number };
  expect(fakes.worker().sent.at(-1)).toEqual({ type: 'abort', id });
  fakes.worker().say({ type: 'ended', id });
  await expect(work).rejects.toThrow('left');
});

describe('EmbeddingHost: restart', () => {
  const exit = { code: null, signal: null, lastLines: [] } as const;
  const startOver = (ended: ChildExit, before: EmbeddingOptions, installed: readonly GpuBuild[] = []) =>
    startsOver(ended, before, { installed, canBuild: () => false })?.options;

  test('uses the next lower CPU build after an illegal instruction', () => {
    const next = startOver({ ...exit, signal: 'SIGILL' }, options);
    expect(next?.skipCpuVariants).toBe(1);
    expect(startOver({ ...exit, signal: 'SIGILL' }, { ...options, skipCpuVariants: 24 })).toBeUndefined();
  });

  test('uses the CPU after a GPU error', () => {
    const lastLines = ['CUDA error: no kernel image is available for execution on the device'];
    const onGpu = { ...options, backend: 'auto', gpuLayers: 'auto' } as const;
    expect(startOver({ ...exit, lastLines }, onGpu)).toMatchObject({ backend: 'cpu', gpuLayers: 0 });
    expect(startOver({ ...exit, lastLines }, options)).toBeUndefined();
  });

  test('uses the next GPU build after a GPU error, and the CPU if the GPU is full', () => {
    const onGpu = { ...options, backend: 'auto', gpuLayers: 'auto' } as const;
    const builds = ['cuda', 'vulkan', 'none'] as const;
    const lastLines = ['CUDA error: no kernel image is available for execution on the device'];
    expect(startOver({ ...exit, lastLines }, onGpu, builds)).toMatchObject({
      backend: 'auto',
      failedGpuBuilds: ['cuda'],
    });
    const full = ['allocating 9.00 MiB on device 0: cudaMalloc failed: out of memory'];
    expect(startOver({ ...exit, lastLines: full }, onGpu, builds)).toMatchObject({ backend: 'cpu', gpuLayers: 0 });
  });

  test('keeps the options after other exits', () => {
    expect(startOver({ ...exit, signal: 'SIGSEGV' }, options)).toBeUndefined();
    expect(startOver({ ...exit, code: 1, lastLines: ['out of memory'] }, options)).toBeUndefined();
  });

  test('notes the reason for using the CPU instead of the GPU', () => {
    const fakes = fakeWorkers<
      ToTaskWorker<EmbeddingOptions, EmbeddingTask>,
      FromTaskWorker<EmbeddingFacts, EmbeddingEvent>
    >();
    const notes: string[] = [];
    const onGpu = { ...options, backend: 'auto', gpuLayers: 'auto' } as const;
    const observer = { note: (text: string) => notes.push(text) };
    const { spawn, startTimer } = fakes;
    new EmbeddingHost({
      capability: 'embedding',
      entry: 'main.js',
      options: onGpu,
      spawn,
      startTimer,
      observer,
    }).start();
    fakes.worker().exit({ signal: 'SIGABRT', lastLines: ['CUDA error: out of memory'] });
    expect(notes).toEqual(['Embeddings cannot be computed on the GPU (CUDA error: out of memory); the CPU does it.']);
    expect(fakes.worker().sent[0]).toMatchObject({ options: { backend: 'cpu', gpuLayers: 0 } });
  });

  test('sends the new options to the worker', () => {
    const { fakes } = world();
    fakes.worker().exit({ signal: 'SIGILL' });
    expect(fakes.worker().sent[0]).toEqual({ type: 'load', options: { ...options, skipCpuVariants: 1 } });
  });
});

test('EmbeddingHost: a load failure has the last lines of native code', async () => {
  const fakes = fakeWorkers<
    ToTaskWorker<EmbeddingOptions, EmbeddingTask>,
    FromTaskWorker<EmbeddingFacts, EmbeddingEvent>
  >();
  const host = new EmbeddingHost({
    capability: 'embedding',
    entry: 'main.js',
    options,
    spawn: fakes.spawn,
    startTimer: fakes.startTimer,
  });
  host.start();
  fakes.worker().say({ type: 'load-failed', reason: null });
  fakes
    .worker()
    .exit({ code: 1, signal: null, lastLines: ['llama_model_load: error loading model: unknown architecture'] });
  await host.settled();
  expect(host.state()).toMatchObject({ type: 'failed', reason: expect.stringContaining('unknown architecture') });
});
