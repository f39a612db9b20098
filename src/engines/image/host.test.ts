import { describe, expect, test } from 'vitest';
import { AppError, plainError } from '../../core/errors.ts';
import type { ImageEvent, ImageFacts, ImageRequest } from '../../core/image.ts';
import type { FromTaskWorker, ToTaskWorker } from '../host/task-messages.ts';
import { fakeWorkers } from '../host/testing/workers.ts';
import { sketchFacts } from './facts.ts';
import { ImageHost, type ImageOptions, type ImageTask, type ImageTaskEvent } from './host.ts';
import { imageRequest } from './testing/request.ts';

const facts = sketchFacts('/models/sketch.onnx');
const never = new AbortController().signal;
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Each text becomes its length and its number. */
const byLength = (...texts: string[]) => ({
  vectors: texts.map((text, index) => Float32Array.of(text.length, index)),
  shortened: texts.some((text) => text.length > 20),
});

function world() {
  const fakes = fakeWorkers<ToTaskWorker<ImageOptions, ImageTask>, FromTaskWorker<ImageFacts, ImageTaskEvent>>();
  const options = { path: '/models/sketch.onnx', threads: 2 };
  const host = new ImageHost({
    capability: 'image',
    entry: 'main.js',
    options,
    spawn: fakes.spawn,
    startTimer: fakes.startTimer,
  });
  host.start();
  fakes.worker().say({ type: 'loaded', facts });
  const begun = () => fakes.worker().sent.flatMap((message) => (message.type === 'begin' ? [message] : []));
  const id = () => begun().at(-1)?.id ?? -1;
  return {
    fakes,
    host,
    begun,
    emit: (told: ImageTaskEvent) => fakes.worker().say({ type: 'event', id: id(), event: told }),
    end: () => fakes.worker().say({ type: 'ended', id: id() }),
    fail: (error: AppError) => fakes.worker().say({ type: 'failed', id: id(), error: plainError(error) }),
  };
}

async function all(events: AsyncIterable<ImageEvent>): Promise<ImageEvent[]> {
  const found: ImageEvent[] = [];
  for await (const event of events) found.push(event);
  return found;
}

function begin(host: ImageHost, changes: Partial<ImageRequest> = {}, signal = never) {
  const request = imageRequest(changes);
  const events = all(host.generate(request, signal, { read: byLength(request.prompt, request.negativePrompt) }));
  events.catch(() => undefined);
  return events;
}

describe('ImageHost.draw', () => {
  test('sends the load options and has the facts after loading', () => {
    const { host, fakes } = world();
    expect(fakes.worker().sent[0]).toEqual({ type: 'load', options: { path: '/models/sketch.onnx', threads: 2 } });
    expect(host.facts()?.name).toBe('parley-sketch (built-in)');
  });

  test('sends the request with the embeddings of both prompts as an attachment', async () => {
    const { host, begun } = world();
    begin(host, { prompt: 'apple', negativePrompt: 'a pear' });
    await settle();
    const task = begun()[0]?.task;
    expect(task).toMatchObject({ type: 'generate', shortened: false, conditions: null });
    expect(JSON.parse(JSON.stringify(task))).toEqual(task);
  });

  test('sends pictures as attachments in the declared order', async () => {
    const { host, begun } = world();
    begin(host, { initial: Uint8Array.of(1), mask: Uint8Array.of(2) });
    begin(host, { mask: Uint8Array.of(2), prompt: 'a prompt that is too long to be read' });
    await settle();
    expect(begun().map(({ bytesAt }) => bytesAt)).toEqual([
      [['request', 'initial'], ['request', 'mask'], ['conditions']],
      [['request', 'mask'], ['conditions']],
    ]);
    const tasks = begun().map(({ task }) => task as Extract<ImageTask, { type: 'generate' }>);
    expect(tasks.map(({ shortened }) => shortened)).toEqual([false, true]);
  });

  test('yields progress, previews, pictures and finish in order', async () => {
    const { host, emit, end } = world();
    const events = begin(host);
    await settle();
    const finish = {
      type: 'finish',
      width: 64,
      height: 64,
      steps: 2,
      sampler: 'Euler',
      scheduler: 'Simple',
      notes: [],
    };
    emit({ type: 'progress', step: 1, steps: 2 });
    emit({ type: 'progress', step: 2, steps: 2, preview: Uint8Array.of(7) });
    emit({ type: 'image', index: 0, seed: 5, png: Uint8Array.of(8) });
    emit(finish as ImageTaskEvent);
    end();
    expect(await events).toEqual([
      { type: 'progress', step: 1, steps: 2 },
      { type: 'progress', step: 2, steps: 2, preview: Uint8Array.of(7) },
      { type: 'image', index: 0, seed: 5, png: Uint8Array.of(8) },
      finish,
    ]);
  });

  test('an abort reaches the worker', async () => {
    const { host, fakes, end } = world();
    const stop = new AbortController();
    const events = begin(host, {}, stop.signal);
    await settle();
    stop.abort(new AppError('stopped', {}));
    expect(fakes.worker().sent.at(-1)).toMatchObject({ type: 'abort' });
    end();
    await expect(events).rejects.toThrow('stopped before it was done');
  });

  test('rejects with the error of the worker', async () => {
    const { host, fail } = world();
    const events = begin(host);
    await settle();
    fail(new AppError('invalid-field', { field: 'mask', expected: 'a picture' }));
    await expect(events).rejects.toMatchObject({ code: 'invalid-field', status: 400 });
  });
});

test('an engine with its own text encoder needs no embeddings', async () => {
  const fakes = fakeWorkers<ToTaskWorker<{ path: string }, ImageTask>, FromTaskWorker<ImageFacts, ImageTaskEvent>>();
  const { spawn, startTimer } = fakes;
  const host = new ImageHost({ capability: 'image', entry: 'main.js', options: { path: '/m' }, spawn, startTimer });
  host.start();
  fakes.worker().say({ type: 'loaded', facts });
  const events = all(host.generate(imageRequest({ initial: Uint8Array.of(1) }), never));
  events.catch(() => undefined);
  await settle();
  const [begun] = fakes.worker().sent.flatMap((message) => (message.type === 'begin' ? [message.task] : []));
  expect(begun).toMatchObject({ type: 'generate', shortened: false });
  expect(begun).not.toHaveProperty('conditions');
});

describe('ImageHost.upscale', () => {
  const request = { image: Uint8Array.of(1, 2), upscaler: 'Lanczos', width: 8, height: 8 };

  test('sends the picture as an attachment and returns the result', async () => {
    const { host, begun, emit, end } = world();
    const work = host.upscale(request, never);
    expect(begun()[0]).toMatchObject({
      task: { type: 'upscale', request: { upscaler: 'Lanczos', width: 8, height: 8 } },
      bytesAt: [['request', 'image']],
    });
    emit({ type: 'upscaled', png: Uint8Array.of(9) });
    end();
    expect(await work).toEqual(Uint8Array.of(9));
  });

  test('rejects without a result', async () => {
    const { host, end } = world();
    const work = host.upscale(request, never);
    end();
    await expect(work).rejects.toMatchObject({ code: 'engine-failed' });
  });
});
