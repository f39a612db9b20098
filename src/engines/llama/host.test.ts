import { expect, test } from 'vitest';
import { defaultSettings } from '../../config/flags.ts';
import type { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { plainRequest } from '../../run/request.ts';
import type { Child, ChildExit, ChildListeners, Spawn } from '../host/child.ts';
import { LlamaHost } from './host.ts';
import type { LoadedModel, LoadOptions } from './load-options.ts';
import type { FromWorker, ToWorker } from './messages.ts';
import { loadOptions } from './placement.ts';

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
  chatTemplate: null,
  specialTokens: { bos: '<s>', eos: '</s>' },
  layers: 2,
  gpuLayers: 0,
  devices: [],
  cpuVariant: 'x64',
  inputs: { image: true, audio: false },
  notes: [],
};

interface FakeWorker {
  readonly sent: ToWorker[];
  say(message: FromWorker): void;
  exit(how?: Partial<ChildExit>): void;
}

/** A host whose workers are played by the test; its waits pass when the test says so. */
function world() {
  const workers: FakeWorker[] = [];
  const delays: { readonly milliseconds: number; readonly action: () => void }[] = [];
  const pending: (() => void)[] = [];
  const seen: string[] = [];
  const spawn = ((_entry: string, listeners: ChildListeners<FromWorker>): Child<ToWorker> => {
    const sent: ToWorker[] = [];
    workers.push({
      sent,
      say: listeners.message,
      exit: (how = {}) => listeners.exit({ code: null, signal: 'SIGSEGV', lastLines: [], ...how }),
    });
    return { pid: workers.length, send: (message) => sent.push(message), stop: async () => {} };
  }) as unknown as Spawn;
  const host = new LlamaHost(options, {
    spawn,
    workerEntry: 'worker.js',
    delay: (milliseconds, action) => {
      delays.push({ milliseconds, action });
      pending.push(action);
    },
    observer: {
      starting: () => seen.push('starting'),
      loaded: () => seen.push('loaded'),
      failed: (reason) => seen.push(`failed: ${reason}`),
      lost: ({ signal }) => seen.push(`lost: ${signal}`),
      note: (text) => seen.push(`note: ${text}`),
    },
  });
  host.start();
  return {
    host,
    workers,
    delays,
    seen,
    worker: () => workers.at(-1) as FakeWorker,
    passDelay: () => pending.shift()?.(),
    skipped: () => workers.map(({ sent }) => (sent[0]?.type === 'load' ? sent[0].options.skipCpuVariants : undefined)),
  };
}

function generate(host: LlamaHost) {
  const events: GenerationEvent[] = [];
  const running = host.generate(plainRequest('Hello', 5), 9, { event: (event) => events.push(event) });
  return { events, running };
}

const finish = {
  type: 'finish',
  cause: 'limit',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 1 },
} as const;

test('it loads, tells how far it is, and is ready', async () => {
  const { host, worker } = world();
  expect(worker().sent).toMatchObject([{ type: 'load', options: { model: 'm.gguf', skipCpuVariants: 0 } }]);
  worker().say({ type: 'progress', fraction: 0.5 });
  expect(host.state()).toEqual({ type: 'loading', name: 'm', progress: 0.5 });
  const settled = host.settled();
  worker().say({ type: 'loaded', model });
  await settled;
  expect(host.state()).toMatchObject({
    type: 'ready',
    model: { name: 'm', contextSize: 512, chatTemplate: undefined, inputs: { image: true, audio: false } },
  });
  expect(host.contextSize()).toBe(512);
});

test('the context size is what the file promises until it is known, and stays known through a restart', () => {
  const { host, worker, passDelay } = world();
  expect(host.contextSize()).toBe(2048);
  worker().say({ type: 'loaded', model });
  expect(host.contextSize()).toBe(512);
  worker().exit();
  expect(host.state().type).toBe('loading');
  expect(host.contextSize()).toBe(512);
  passDelay();
  expect(host.contextSize()).toBe(512);
});

test('what the worker says of the model is told as it is', () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', model });
  expect(host.state()).toMatchObject({
    model: { vocabularyType: 2, embeddingLength: 512, specialTokens: { bos: '<s>', eos: '</s>' } },
  });
});

test('special tokens of a text are read unless told otherwise, and pieces may be bytes', async () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', model });
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

test('the pieces of a step become the events of their generations', () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', model });
  const [first, second] = [generate(host), generate(host)];
  const ids = worker().sent.flatMap((message) => (message.type === 'generate' ? [message.id] : []));
  const [a = 0, b = 0] = ids;
  worker().say({
    type: 'step',
    pieces: [
      { type: 'start', id: a, promptTokens: 1, cachedTokens: 0, maxTokens: 5, droppedTokens: 0 },
      { type: 'text', id: a, text: 'one' },
      { type: 'text', id: b, text: 'two' },
      { ...finish, id: a },
      { type: 'text', id: a, text: 'too late' },
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

test('questions get their answers, or the error in words', async () => {
  const { host, worker } = world();
  worker().say({ type: 'loaded', model });
  const [tokens, text] = [host.tokenize('a', { addSpecial: true }), host.detokenize([1], { renderSpecial: false })];
  const [first, second] = worker().sent.slice(1) as { id: number }[];
  worker().say({ type: 'refused', id: second?.id ?? 0, error: { code: 'internal', details: { reason: 'broken' } } });
  worker().say({ type: 'answer', id: first?.id ?? 0, value: [1, 2] });
  expect(await tokens).toEqual([1, 2]);
  await expect(text).rejects.toMatchObject({ code: 'internal' });
});

test('states are there once a model is, and each wish about them is a question', async () => {
  const { host, worker } = world();
  expect(host.states).toBeUndefined();
  worker().say({ type: 'loaded', model });
  const saved = host.states?.save(3);
  const [question] = worker().sent.slice(1) as { id: number }[];
  expect(question).toMatchObject({ type: 'states', action: { type: 'save', place: 3 } });
  worker().say({ type: 'answer', id: question?.id ?? 0, value: { tokens: 4, bytes: 40 } });
  expect(await saved).toEqual({ tokens: 4, bytes: 40 });
});

test('a worker that dies costs its requests an error, and is started again at once', async () => {
  const { host, worker, workers, delays, passDelay, seen } = world();
  worker().say({ type: 'loaded', model });
  const { events } = generate(host);
  const asked = host.tokenize('a', { addSpecial: true }).catch((error: AppError) => error.code);
  worker().exit();
  expect(events).toMatchObject([{ type: 'error', error: { code: 'engine-lost' } }]);
  expect(await asked).toBe('engine-lost');
  expect(host.state().type).toBe('loading');
  expect(delays.at(-1)?.milliseconds).toBe(0);
  passDelay();
  worker().say({ type: 'loaded', model });
  expect([workers.length, host.state().type]).toEqual([2, 'ready']);
  expect(seen).toEqual(['starting', 'loaded', 'lost: SIGSEGV', 'starting', 'loaded']);
});

test('one that dies again and again waits longer each time, and is given up with a reason', async () => {
  const { host, worker, delays, passDelay, seen } = world();
  for (let death = 0; death < 6; death += 1) {
    worker().say({ type: 'loaded', model });
    worker().exit({ lastLines: ['ggml: error: something is broken'] });
    if (death < 5) passDelay();
  }
  expect(delays.map(({ milliseconds }) => milliseconds)).toEqual([0, 500, 1000, 2000, 4000]);
  expect(host.state()).toEqual({ type: 'failed', name: 'm', reason: 'something is broken' });
  await host.settled();
  expect(seen.at(-1)).toBe('failed: something is broken');
});

test('a finished generation clears the record', () => {
  const { host, worker, delays, passDelay } = world();
  for (let death = 0; death < 8; death += 1) {
    worker().say({ type: 'loaded', model });
    generate(host);
    const { id } = worker().sent.at(-1) as { id: number };
    worker().say({ type: 'step', pieces: [{ ...finish, id }] });
    worker().exit();
    passDelay();
  }
  expect(new Set(delays.map(({ milliseconds }) => milliseconds))).toEqual(new Set([0]));
});

test('an illegal instruction leads to the next lower CPU build, while loading and later', () => {
  const { host, worker, passDelay, skipped } = world();
  worker().exit({ signal: 'SIGILL' });
  passDelay();
  worker().exit({ signal: 'SIGILL' });
  passDelay();
  worker().say({ type: 'loaded', model });
  worker().exit({ signal: 'SIGILL' });
  passDelay();
  expect(skipped()).toEqual([0, 1, 2, 3]);
  expect(host.state().type).toBe('loading');
});

test('a machine on which every build dies of it is given up in the end', () => {
  const { host, worker, passDelay, workers } = world();
  while (host.state().type === 'loading' && workers.length < 100) {
    worker().exit({ signal: 'SIGILL' });
    passDelay();
  }
  expect(host.state()).toMatchObject({ type: 'failed', reason: expect.stringContaining('SIGILL') });
  expect(workers.length).toBeLessThan(40);
});

test.each([
  ['its own words', { reason: 'this is an embedding model' }, ['x: error: other'], 'this is an embedding model'],
  ['the last lines', { reason: null }, ['llama_model_load: error loading model: bad magic'], 'bad magic'],
])(
  'a model that cannot be loaded is not tried again; the reason comes from %s',
  (_, { reason }, lastLines, expected) => {
    const { host, worker, delays } = world();
    worker().say({ type: 'load-failed', reason });
    worker().exit({ code: 3, signal: null, lastLines });
    expect(host.state()).toEqual({ type: 'failed', name: 'm', reason: expected });
    expect(delays).toEqual([]);
  },
);

test('a worker that dies while it loads for the first time is not tried again', () => {
  const { host, worker } = world();
  worker().exit({ signal: 'SIGKILL' });
  expect(host.state()).toEqual({ type: 'failed', name: 'm', reason: 'the engine process died of SIGKILL' });
});

test('a host that was stopped starts nothing any more', async () => {
  const { host, worker, delays, workers } = world();
  worker().say({ type: 'loaded', model });
  worker().exit();
  await host.stop();
  delays.at(-1)?.action();
  expect(workers).toHaveLength(1);
});

test('what the worker wants to be known is told', () => {
  const { worker, seen } = world();
  worker().say({ type: 'note', text: 'The disk is full' });
  expect(seen).toEqual(['starting', 'note: The disk is full']);
});
