import { describe, expect, test } from 'vitest';
import { defaultSettings } from '../../config/flags.ts';
import type { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { plainRequest } from '../../core/testing/plain-request.ts';
import { emptyCacheReport, modelError } from '../../core/text-service.ts';
import { fakeWorkers } from '../host/testing/workers.ts';
import { LlamaHost, type LlamaHostDeps } from './host.ts';
import { type LoadedModel, type LoadOptions, loadOptions } from './load-options.ts';
import type { FromWorker, ToWorker } from './messages.ts';

const shape = { architecture: 'llama', layers: 3, trainedContext: 2048, sizeBytes: 1000, cacheBytesPerToken: 10 };
const options: LoadOptions = loadOptions(defaultSettings, {
  model: 'm.gguf',
  name: 'm',
  shape,
  threads: 1,
  contextSizeGiven: false,
});

const model: LoadedModel = {
  contextSize: 512,
  trainedContext: 2048,
  vocabularySize: 100,
  vocabularyType: 2,
  embeddingLength: 512,
  parameters: 5,
  sizeBytes: 7,
  description: 'tiny',
  chatTemplate: undefined,
  specialTokens: { bos: '<s>', eos: '</s>' },
  layers: 2,
  gpuLayers: 0,
  devices: [],
  gpus: [],
  cpuVariant: 'x64',
  snapshotBytes: 0,
  pool: undefined,
  inputs: { image: true, audio: false },
  notes: [],
};

/** A host whose workers are played by the test; its waits pass when the test says so. */
function world(more: Partial<LlamaHostDeps> = {}, changes: Partial<LoadOptions> = {}) {
  const fakes = fakeWorkers<ToWorker, FromWorker>();
  const seen: string[] = [];
  const host = new LlamaHost(
    { ...options, ...changes },
    {
      spawn: fakes.spawn,
      entry: 'worker.js',
      startTimer: fakes.startTimer,
      observer: {
        starting: () => seen.push('starting'),
        loaded: () => seen.push('loaded'),
        progress: (fraction) => seen.push(`progress: ${fraction}`),
        failed: (reason) => seen.push(`failed: ${reason}`),
        lost: ({ exit, failures }) => seen.push(`lost: ${exit?.signal}, ${failures} in a row`),
        note: (text) => seen.push(`note: ${text}`),
      },
      ...more,
    },
  );
  host.start();
  return {
    ...fakes,
    host,
    seen,
    skipped: () =>
      fakes.workers.map(({ sent }) => (sent[0]?.type === 'load' ? sent[0].options.skipCpuVariants : undefined)),
  };
}

/** The number under which the newest generation runs. */
function newestId(sent: readonly ToWorker[]): number {
  return sent.findLast((message) => message.type === 'generate')?.id ?? 0;
}

function generate(host: LlamaHost, prompt = 'Hello', seed = 9) {
  const events: GenerationEvent[] = [];
  const running = host.generate(plainRequest(prompt, 5), seed, { event: (event) => events.push(event) });
  return { events, running };
}

const finish = {
  type: 'finish',
  reason: 'length',
  cause: 'limit',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 1 },
} as const;

test('LlamaHost: loading, progress, ready', async () => {
  const { host, worker, seen } = world();
  expect(worker().sent).toMatchObject([{ type: 'load', options: { model: 'm.gguf', skipCpuVariants: 0 } }]);
  worker().say({ type: 'progress', fraction: 0.5 });
  expect(host.state()).toEqual({ type: 'loading', name: 'm', progress: 0.5 });
  const settled = host.settled();
  worker().say({ type: 'loaded', facts: model });
  await settled;
  expect(host.state()).toMatchObject({
    type: 'ready',
    model: { name: 'm', contextSize: 512, chatTemplate: undefined, inputs: { image: true, audio: false } },
  });
  expect(host.contextSize()).toBe(512);
  expect(seen).toEqual(['starting', 'progress: 0.5', 'loaded']);
});

test('contextSize: that of the file until loaded, then unchanged by a restart', () => {
  const { host, worker, advance } = world();
  expect(host.contextSize()).toBe(2048);
  worker().say({ type: 'loaded', facts: model });
  expect(host.contextSize()).toBe(512);
  worker().exit();
  expect(host.state().type).toBe('loading');
  expect(host.contextSize()).toBe(512);
  advance(0);
  expect(host.contextSize()).toBe(512);
});

test('state: the model as the worker reports it', () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', facts: model });
  expect(host.state()).toMatchObject({
    model: { vocabularyType: 2, embeddingLength: 512, specialTokens: { bos: '<s>', eos: '</s>' } },
  });
});

test('tokenize: parses special tokens by default; pieces may be bytes', async () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', facts: model });
  void host.tokenize('<s>', { addSpecial: false });
  void host.tokenize('<s>', { addSpecial: true, parseSpecial: false });
  const pieces = host.pieces([7, 8]);
  expect(worker().sent.slice(1)).toMatchObject([
    { type: 'tokenize', text: '<s>', addSpecial: false, parseSpecial: true },
    { type: 'tokenize', text: '<s>', addSpecial: true, parseSpecial: false },
    { type: 'pieces', tokens: [7, 8] },
  ]);
  const id = (worker().sent.at(-1) as { readonly id: number }).id;
  worker().say({ type: 'answer', id, value: ['a', [195]] });
  expect(await pieces).toEqual(['a', [195]]);
});

test('LlamaHost: pieces of a step become events of their generations', () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', facts: model });
  const [first, second] = [generate(host), generate(host)];
  const ids = worker().sent.flatMap((message) => (message.type === 'generate' ? [message.id] : []));
  const [a = 0, b = 0] = ids;
  worker().say({
    type: 'step',
    pieces: [
      { type: 'start', id: a, promptTokens: 1, cachedTokens: 0, maxTokens: 5, droppedTokens: 0, seed: 9 },
      { type: 'text-delta', id: a, text: 'one' },
      { type: 'text-delta', id: b, text: 'two' },
      { ...finish, id: a },
      { type: 'text-delta', id: a, text: 'too late' },
    ],
  });
  expect(first.events).toMatchObject([
    { type: 'start', seed: 9 },
    { type: 'text-delta', text: 'one' },
    { type: 'finish', reason: 'length', cause: 'limit' },
  ]);
  expect(second.events).toEqual([{ type: 'text-delta', text: 'two' }]);
  first.running.abort();
  second.running.abort();
  expect(worker().sent.filter(({ type }) => type === 'abort')).toEqual([{ type: 'abort', id: b }]);
});

test('LlamaHost: a worker call resolves with its answer or rejects with its error', async () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', facts: model });
  const [tokens, text] = [host.tokenize('a', { addSpecial: true }), host.detokenize([1], { renderSpecial: false })];
  await host.settled();
  const [first, second] = worker().sent.slice(1) as { id: number }[];
  worker().say({ type: 'refused', id: second?.id ?? 0, error: { code: 'internal', details: { reason: 'broken' } } });
  worker().say({ type: 'answer', id: first?.id ?? 0, value: [1, 2] });
  expect(await tokens).toEqual([1, 2]);
  await expect(text).rejects.toMatchObject({ code: 'internal' });
});

test('states: needs a loaded model; each operation is a call to the worker', async () => {
  const { host, worker } = world();
  expect(host.states).toBeUndefined();
  worker().say({ type: 'loaded', facts: model });
  expect(host.states?.count).toBe(options.savedStates);
  const saved = host.states?.save(3);
  await host.settled();
  const [question] = worker().sent.slice(1) as { id: number }[];
  expect(question).toMatchObject({ type: 'states', action: { type: 'save', index: 3 } });
  worker().say({ type: 'answer', id: question?.id ?? 0, value: { tokens: 4, bytes: 40 } });
  expect(await saved).toEqual({ tokens: 4, bytes: 40 });
});

test.each(['check', 'load', 'clear'] as const)('states: passes %s on to the worker', async (action) => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', facts: model });
  void host.states?.[action](2);
  await host.settled();
  expect(worker().sent.at(-1)).toMatchObject({ type: 'states', action: { type: action } });
});

test('tokenize: during the load, answered after it', async () => {
  const { host, worker } = world();
  const tokens = host.tokenize('a', { addSpecial: false });
  expect(worker().sent).toHaveLength(1);
  worker().say({ type: 'loaded', facts: model });
  await host.settled();
  const question = worker().sent[1] as ToWorker & { type: 'tokenize' };
  expect(question).toMatchObject({ type: 'tokenize', text: 'a', addSpecial: false });
  worker().say({ type: 'answer', id: question.id, value: [7] });
  expect(await tokens).toEqual([7]);
});

test('cacheReport: empty at once without a model', async () => {
  const { host, worker, advance } = world();
  const report = { slots: [{ tokens: 4, busy: false }], memory: null, disk: null, misses: [] };
  expect(await host.cacheReport()).toEqual(emptyCacheReport);
  worker().say({ type: 'loaded', facts: model });
  const asked = host.cacheReport();
  await host.settled();
  worker().say({ type: 'answer', id: (worker().sent.at(-1) as { id: number }).id, value: report });
  expect(await asked).toEqual(report);

  const lost = host.cacheReport();
  await host.settled();
  worker().exit();
  expect([await lost, await host.cacheReport()]).toEqual([emptyCacheReport, emptyCacheReport]);

  worker().say({ type: 'loaded', facts: model });
  const silent = host.cacheReport().catch((error: AppError) => error.code);
  await host.settled();
  advance(121_000);
  expect(await silent).toBe('engine-silent');
});

test('snapshots: those of the running worker, which gives them back when asked', async () => {
  const { host, worker } = world();
  const figures = { snapshots: 1, bytes: 50, limitBytes: 90 };
  worker().say({ type: 'snapshots', figures });
  expect(host.snapshots()).toBeUndefined();
  worker().say({ type: 'loaded', facts: model });
  expect(host.snapshots()).toEqual(figures);
  const released = host.release(20);
  await host.settled();
  const { id, ...asked } = worker().sent.at(-1) as { id: number };
  expect(asked).toEqual({ type: 'release', bytes: 20 });
  worker().say({ type: 'answer', id, value: null });
  await released;
  worker().exit({ signal: 'SIGSEGV' });
  expect(host.snapshots()).toBeUndefined();
  worker().say({ type: 'loaded', facts: model });
  expect(host.snapshots()).toBeUndefined();
});

test('LlamaHost: after a crash of the worker its requests fail, and it restarts at once', async () => {
  const { host, worker, workers, seen } = world();
  worker().say({ type: 'loaded', facts: model });
  const { events } = generate(host);
  const asked = host.tokenize('a', { addSpecial: true }).catch((error: AppError) => error.code);
  await host.settled();
  worker().exit();
  expect(events).toMatchObject([{ type: 'error', error: { code: 'engine-lost' } }]);
  expect(await asked).toBe('engine-lost');
  expect(host.state()).toEqual({ type: 'loading', name: 'm', progress: 0 });
  expect(host.contextSize()).toBe(512);
  worker().say({ type: 'loaded', facts: model });
  expect([workers.length, host.state().type]).toEqual([2, 'ready']);
  expect(seen).toEqual(['starting', 'loaded', 'lost: SIGSEGV, 1 in a row', 'starting', 'loaded']);
});

test('LlamaHost: ends a hanging worker; its requests get engine-silent', () => {
  const { host, worker, advance } = world();
  worker().say({ type: 'loaded', facts: model });
  const { events } = generate(host);
  advance(1000);
  worker().lively = false;
  advance(10_000);
  expect(worker().killed).toBe(true);
  expect(events).toMatchObject([{ type: 'error', error: { code: 'engine-silent', status: 500 } }]);
});

test('LlamaHost: restarts a crashing worker without limit; new requests get the reason and Retry-After', () => {
  const { host, worker, advance, seen } = world();
  for (let death = 0; death < 6; death += 1) {
    worker().say({ type: 'loaded', facts: model });
    worker().exit({ lastLines: ['ggml: error: something is broken'] });
    if (death < 5) advance(4000);
  }
  // The pause, and the half second that the last load took.
  const trouble = { reason: 'the engine process died of SIGSEGV (6 times in a row)', retryAfterSeconds: 9 };
  expect(host.state()).toEqual({ type: 'loading', name: 'm', progress: 0, trouble });
  expect(modelError(host.state())).toMatchObject({ code: 'engine-down', status: 503, details: trouble });
  expect(generate(host).events).toMatchObject([{ type: 'error', error: { code: 'engine-down' } }]);
  expect(seen.at(-1)).toBe('lost: SIGSEGV, 6 in a row');
  advance(8000);
  worker().say({ type: 'loaded', facts: model });
  expect(host.state().type).toBe('ready');
});

test('LlamaHost: a finished generation resets the crash count', () => {
  const { host, worker, seen } = world();
  for (let death = 0; death < 8; death += 1) {
    worker().say({ type: 'loaded', facts: model });
    generate(host, `prompt ${death}`);
    worker().say({ type: 'step', pieces: [{ ...finish, id: newestId(worker().sent) }] });
    worker().exit();
  }
  const losses = seen.filter((line) => line.startsWith('lost'));
  expect(new Set(losses)).toEqual(new Set(['lost: SIGSEGV, 1 in a row']));
  expect(losses).toHaveLength(8);
});

test('LlamaHost: rejects a request that crashed the worker twice, with any seed; other requests run', () => {
  const { host, worker, advance } = world();
  for (const seed of [1, 2]) {
    worker().say({ type: 'loaded', facts: model });
    expect(generate(host, 'deadly', seed).events).toEqual([]);
    worker().exit();
    advance(1000);
  }
  worker().say({ type: 'loaded', facts: model });
  expect(generate(host, 'deadly', 3).events).toMatchObject([
    { type: 'error', error: { code: 'request-ends-engine', status: 400 } },
  ]);
  generate(host, 'harmless');
  expect(worker().sent.at(-1)).toMatchObject({ type: 'generate', request: { prompt: 'harmless' } });
});

test('LlamaHost: a generation aborted during the load ends as aborted', () => {
  const { host, worker } = world();
  const { events, running } = generate(host);
  running.abort();
  expect(events).toMatchObject([{ type: 'finish', reason: 'aborted', usage: { completionTokens: 0 } }]);
  worker().say({ type: 'loaded', facts: model });
  expect(worker().sent).toHaveLength(1);
});

test('LlamaHost: an illegal instruction selects the next lower CPU build, during the load and later', () => {
  const { host, worker, skipped } = world();
  worker().exit({ signal: 'SIGILL' });
  worker().exit({ signal: 'SIGILL' });
  worker().say({ type: 'loaded', facts: model });
  worker().exit({ signal: 'SIGILL' });
  expect(skipped()).toEqual([0, 1, 2, 3]);
  expect(host.state().type).toBe('loading');
});

test('LlamaHost: gives up after an illegal instruction in every CPU build', () => {
  const { host, worker, workers } = world();
  while (host.state().type === 'loading' && workers.length < 100) worker().exit({ signal: 'SIGILL' });
  expect(host.state()).toMatchObject({ type: 'failed', reason: expect.stringContaining('SIGILL') });
  expect(workers.length).toBeLessThan(40);
});

test.each([
  ['its own words', { reason: 'this is an embedding model' }, ['x: error: other'], 'this is an embedding model'],
  ['the last lines', { reason: null }, ['llama_model_load: error loading model: bad magic'], 'bad magic'],
])(
  'LlamaHost: does not retry a model that cannot be loaded; the reason comes from %s',
  (_, { reason }, lastLines, expected) => {
    const { host, worker, pendingTimers } = world();
    worker().say({ type: 'load-failed', reason });
    worker().exit({ code: 3, signal: null, lastLines });
    expect(host.state()).toEqual({ type: 'failed', name: 'm', reason: expected });
    expect(pendingTimers()).toBe(0);
  },
);

test('proven: a failing load is retried', () => {
  const { host, worker, workers } = world({ proven: true });
  worker().say({ type: 'load-failed', reason: 'not enough memory' });
  worker().exit({ code: 3, signal: null });
  expect(host.state().type).toBe('loading');
  expect(workers).toHaveLength(2);
});

test('LlamaHost: does not retry if the worker crashes during the first load', () => {
  const { host, worker } = world();
  worker().exit({ signal: 'SIGKILL' });
  expect(host.state()).toEqual({ type: 'failed', name: 'm', reason: 'the engine process died of SIGKILL' });
});

test('stop during the load: settles at once, with the reason', async () => {
  const { host, worker, workers } = world();
  const settled = host.settled();
  await host.stop();
  await settled;
  expect(host.state()).toMatchObject({ type: 'loading', trouble: { reason: 'it is being stopped' } });
  worker().exit();
  expect(workers).toHaveLength(1);
});

test('note: passes notes of the worker on', () => {
  const { worker, seen } = world();
  worker().say({ type: 'note', text: 'The disk is full' });
  expect(seen).toEqual(['starting', 'note: The disk is full']);
});

test('threads: starts with all of them, follows the worker, and keeps the count of changes over a restart', () => {
  const { worker, host } = world({}, { threads: 4, batchThreads: 8 });
  expect(host.threads()).toBeUndefined();
  worker().say({ type: 'loaded', facts: model });
  expect(host.threads()).toEqual({ decode: 4, prefill: 8, changes: 0 });
  worker().say({ type: 'threads', decode: 3, prefill: 8, changes: 1 });
  worker().say({ type: 'threads', decode: 3, prefill: 4, changes: 2 });
  expect(host.threads()).toEqual({ decode: 3, prefill: 4, changes: 3 });
  worker().exit({ signal: 'SIGSEGV' });
  expect(host.threads()).toBeUndefined();
});

describe('LlamaHost: unusable GPU', () => {
  const reason = 'the provided PTX was compiled with an unsupported toolchain';
  const death = {
    signal: 'SIGABRT',
    lastLines: [
      `CUDA error: ${reason}`,
      '  current device: 0, in function f at g.cu:1',
      'ggml-cuda.cu:108: CUDA error',
    ],
  } as const;
  const failedBuilds = (workers: readonly { sent: readonly ToWorker[] }[]) =>
    workers.map(({ sent }) => (sent[0]?.type === 'load' ? sent[0].options.failedGpuBuilds : undefined));

  test('without a flag: uses the next build and logs the reason', () => {
    const { host, worker, workers, seen } = world({ gpuBuilds: ['cuda', 'vulkan', 'none'] });
    worker().exit(death);
    expect(host.state().type).toBe('loading');
    worker().exit({ signal: 'SIGABRT', lastLines: ['what(): vk::DeviceLostError', 'ErrorDeviceLost'] });
    worker().say({ type: 'loaded', facts: model });
    expect(host.state().type).toBe('ready');
    expect(failedBuilds(workers)).toEqual([[], ['cuda'], ['cuda', 'vulkan']]);
    expect(seen.filter((line) => line.startsWith('note'))).toEqual([
      expect.stringMatching(/^note: CUDA cannot be used here \(the provided PTX .*\); going on with Vulkan\. .*driver/),
      expect.stringMatching(/^note: Vulkan cannot be used here .*; going on with the CPU\./),
    ]);
  });

  test('with a backend flag: failed, with reason and what to try', () => {
    const { host, worker, workers } = world({ gpuBuilds: ['cuda', 'vulkan', 'none'] }, { backend: 'cuda' });
    worker().exit(death);
    expect(host.state()).toMatchObject({
      type: 'failed',
      reason: expect.stringMatching(/^CUDA cannot be used here: the provided PTX .*driver.*cuda-ext.*--usevulkan/s),
    });
    expect(workers).toHaveLength(1);
  });

  test('tries the older CUDA build if it is installed', () => {
    const { worker, workers, seen } = world({ gpuBuilds: ['cuda', 'cuda-ext', 'none'] }, { backend: 'cuda' });
    worker().exit(death);
    expect(failedBuilds(workers)).toEqual([[], ['cuda']]);
    expect(seen).toContainEqual(expect.stringContaining('going on with CUDA 12'));
  });

  test('with a backend flag: names the reason of every build that was tried', () => {
    const { host, worker } = world(
      { gpuBuilds: ['cuda', 'cuda-ext', 'none'], canBuild: () => true },
      { backend: 'cuda' },
    );
    worker().exit(death);
    const missing = 'libcublas.so.12: cannot open shared object file: No such file or directory';
    worker().say({ type: 'load-failed', reason: null });
    worker().exit({
      code: 3,
      signal: null,
      lastLines: [`load_backend: failed to load /p/libggml-cuda.so: ${missing}`],
    });
    const { reason: message } = host.state() as { reason: string };
    expect(message).toContain(`CUDA cannot be used here: ${reason}; CUDA 12 (cuda-ext): ${missing}. What may help:`);
    expect(message).toContain('parley pack build cuda');
  });

  test('a build that has worked before is tried again', () => {
    const { worker, workers } = world({ gpuBuilds: ['cuda', 'none'] });
    worker().say({ type: 'loaded', facts: model });
    worker().exit(death);
    expect(failedBuilds(workers)).toEqual([[], []]);
  });

  test('an unrelated crash does not change the build', () => {
    const { host, worker } = world({ gpuBuilds: ['cuda', 'none'] });
    worker().exit({ signal: 'SIGABRT', lastLines: ['GGML_ASSERT(n > 0) failed'] });
    expect(host.state().type).toBe('failed');
  });
});

describe('LlamaHost: a GPU without enough memory', () => {
  const full = {
    code: 3,
    signal: null,
    lastLines: [
      'ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9.00 MiB on device 0: cudaMalloc failed: out of memory',
      'llama_model_load: error loading model: unable to allocate CUDA0 buffer',
    ],
  } as const;
  const layersOf = (workers: readonly { sent: readonly ToWorker[] }[]) =>
    workers.map(({ sent }) => (sent[0]?.type === 'load' ? sent[0].options.gpuLayers : undefined));

  test.each(['auto', 33] as const)('with %s layers: restarts with fewer, and logs that', (gpuLayers) => {
    const { host, worker, workers, seen } = world({ gpuBuilds: ['cuda', 'none'] }, { gpuLayers });
    for (const placed of [33, 24]) {
      worker().say({ type: 'placed', gpuLayers: placed });
      worker().say({ type: 'load-failed', reason: null });
      worker().exit(full);
    }
    worker().say({ type: 'loaded', facts: model });
    expect(host.state().type).toBe('ready');
    expect(layersOf(workers)).toEqual([gpuLayers, 24, 16]);
    expect(seen.filter((line) => line.startsWith('note'))).toEqual([
      expect.stringMatching(/no memory for 33 layers .*out of memory.*; going on with 24\./),
      expect.stringMatching(/no memory for 24 layers .*; going on with 16\./),
    ]);
  });

  test('after the last attempt: on the CPU, with the same build', () => {
    const { worker, workers } = world({ gpuBuilds: ['cuda', 'none'] }, { gpuLayers: 8, layersBefore: 33 });
    worker().say({ type: 'placed', gpuLayers: 8 });
    worker().exit(full);
    expect(layersOf(workers)).toEqual([8, 0]);
  });

  test('during a step: restarts with fewer layers', () => {
    const { worker, workers, seen } = world({ gpuBuilds: ['cuda', 'none'] });
    worker().say({ type: 'placed', gpuLayers: 4 });
    worker().say({ type: 'loaded', facts: model });
    worker().exit({ signal: 'SIGABRT', lastLines: ['CUDA error: out of memory', 'ggml-cuda.cu:108: CUDA error'] });
    expect(layersOf(workers)).toEqual(['auto', 3]);
    expect(seen.at(-2)).toContain('going on with 3');
  });
});
