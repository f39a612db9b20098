import { describe, expect, test } from 'vitest';
import { Aborted } from '../core/abort.ts';
import { Channel } from '../core/channel.ts';
import type { EngineSource } from '../core/engine-source.ts';
import { AppError } from '../core/errors.ts';
import type { GraphEvent, ImageEngine, ImageEvent, ImageFacts, ImageRequest } from '../core/image.ts';
import type { RequestContext } from '../core/request-context.ts';
import { imageService, RunningImageJobs } from './image.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';

const facts: ImageFacts = {
  name: 'brush',
  title: 'brush',
  path: '/m',
  nativeSize: 64,
  samplers: ['Euler'],
  schedulers: ['Simple'],
  upscalers: [],
  defaults: { steps: 2, guidance: 1, size: 64 },
};

const request: ImageRequest = {
  prompt: '',
  negativePrompt: '',
  width: 64,
  height: 64,
  steps: 8,
  guidance: 1,
  sampler: '',
  scheduler: '',
  seed: 1,
  count: 2,
  clipSkip: 0,
  strength: 1,
  previewEvery: 0,
};

/** An engine with scripted events, which records the outcome. */
function world() {
  let now = 1000;
  const queue = new Queue({ capacity: 1, maxRequests: () => 5, now: () => now });
  const requestQueue = new RequestQueue(queue, () => now);
  const imageJobs = new RunningImageJobs(() => now);
  interface Run {
    readonly events: Channel<ImageEvent>;
    readonly signal: AbortSignal;
    readonly seed: number;
    readonly count: number;
    /** Thrown at the end of the events. */
    failure?: AppError;
  }
  const running: Run[] = [];
  const engine: { -readonly [Name in keyof ImageEngine]: ImageEngine[Name] } = {
    facts: () => facts,
    generate: ({ seed, count }, signal) => {
      const events = new Channel<ImageEvent>();
      const run: Run = { events, signal, seed, count };
      running.push(run);
      signal.addEventListener('abort', () => events.end());
      return (async function* () {
        yield* events;
        if (run.failure) throw run.failure;
      })();
    },
    upscale: async ({ width }) => Uint8Array.of(width),
  };
  const source: EngineSource<ImageEngine> = {
    name: 'brush',
    use: async () => ({ engine, release: () => undefined }),
    peek: () => engine,
    state: () => ({ type: 'ready' }),
  };
  return {
    queue,
    requestQueue,
    engine,
    running,
    imageJobs,
    service: imageService({ requestQueue, source: { ...source, facts }, imageJobs, work }),
    pass: (milliseconds: number) => {
      now += milliseconds;
    },
  };
}

const work = { name: 'image', cost: 2, initialEstimateSeconds: 20 };

function context(genkey = ''): RequestContext & { readonly leave: () => void } {
  const control = new AbortController();
  return { genkey, client: genkey, signal: control.signal, leave: () => control.abort(new Aborted('client-gone')) };
}

const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Reads to the end: the events, and how it ended. */
async function read(events: AsyncIterable<{ readonly type: string }>): Promise<string> {
  const seen: string[] = [];
  try {
    for await (const { type } of events) seen.push(type);
    return [...seen, 'end'].join(' ');
  } catch (error) {
    return [...seen, error instanceof AppError ? error.code : String(error)].join(' ');
  }
}

const step = (done: number, preview?: Uint8Array): ImageEvent => ({
  type: 'progress',
  step: done,
  steps: 8,
  ...(preview && { preview }),
});
const image: ImageEvent = { type: 'image', index: 0, seed: 1, png: Uint8Array.of(1) };

describe('imageService', () => {
  test('yields the events of the engine', async () => {
    const { service, running } = world();
    const events = read(service.generate(request, context()));
    await settle();
    for (const event of [step(1), image]) running[0]?.events.push(event);
    running[0]?.events.end();
    expect(await events).toBe('progress image end');
    expect([service.name, service.facts]).toEqual(['brush', facts]);
  });

  test('draws one request at a time', async () => {
    const { service, running } = world();
    const both = [1, 2].map((seed) => read(service.generate({ ...request, seed }, context())));
    await settle();
    expect(running.map(({ seed }) => seed)).toEqual([1]);
    running[0]?.events.end();
    await both[0];
    await settle();
    expect(running.map(({ seed }) => seed)).toEqual([1, 2]);
    running[1]?.events.end();
    expect(await both[1]).toBe('end');
  });

  test('stops the engine when its client disconnects', async () => {
    const { service, running } = world();
    const own = context();
    const events = read(service.generate(request, own));
    await settle();
    own.leave();
    expect(await events).toContain('client-gone');
    expect(running[0]?.signal.aborted).toBe(true);
  });
});

describe('imageService: progress', () => {
  test('exists only while a request is drawn', async () => {
    const { service, imageJobs, running } = world();
    expect(imageJobs.progress()).toBeUndefined();
    const events = read(service.generate(request, context('k')));
    await settle();
    expect(imageJobs.progress()).toEqual({
      genkey: 'k',
      skipped: false,
      step: 0,
      steps: 8,
      images: 0,
      count: 2,
      secondsSoFar: 0,
    });
    running[0]?.events.end();
    await events;
    expect(imageJobs.progress()).toBeUndefined();
  });

  test('counts steps, images and seconds, and keeps the last preview', async () => {
    const { service, imageJobs, running, pass } = world();
    const events = read(service.generate(request, context()));
    await settle();
    const [first] = running;
    first?.events.push(step(3, Uint8Array.of(7)));
    await settle();
    pass(2500);
    expect(imageJobs.progress()).toMatchObject({ step: 3, steps: 8, secondsSoFar: 2.5, preview: Uint8Array.of(7) });
    first?.events.push(step(4));
    first?.events.push(image);
    await settle();
    expect(imageJobs.progress()).toMatchObject({ step: 0, images: 1, count: 2, preview: Uint8Array.of(7) });
    first?.events.end();
    await events;
  });

  test('of a graph has its steps and its last preview', async () => {
    const { imageJobs, engine, service } = world();
    const events = new Channel<GraphEvent>();
    engine.graph = () => events;
    const graph = { graph: {}, extra: {}, file: () => undefined };
    const run = read(service.inTurn(context('p1'), (turn) => turn.graph(graph)));
    await settle();
    events.push({ type: 'event', name: 'progress', data: { value: 3, max: 9 } });
    events.push({ type: 'preview', bytes: Uint8Array.of(0, 0, 0, 1, 0, 0, 0, 1, 7) });
    events.push({ type: 'preview', bytes: Uint8Array.of(0, 0, 0, 3, 0, 0, 0, 0, 65) });
    await settle();
    expect(imageJobs.progress('p1')).toMatchObject({ step: 3, steps: 9, preview: Uint8Array.of(7) });
    events.end();
    await run;
  });

  test('is that of the running request while others are queued', async () => {
    const { service, imageJobs, running } = world();
    const both = [1, 2].map((seed) => read(service.generate({ ...request, seed, count: seed }, context())));
    await settle();
    expect(imageJobs.progress()?.count).toBe(1);
    running[0]?.events.end();
    await both[0];
    await settle();
    expect(imageJobs.progress()).toMatchObject({ count: 2, step: 0 });
    running[1]?.events.end();
    await both[1];
  });

  test('is removed when the engine fails', async () => {
    const { service, imageJobs, running } = world();
    const events = read(service.generate(request, context('a')));
    await settle();
    running[0]?.events.push(step(1));
    imageJobs.interrupt();
    await events;
    expect(imageJobs.progress()).toBeUndefined();
  });
});

describe('imageService: interrupt', () => {
  test('ends the running request with "stopped"', async () => {
    const { service, imageJobs, running } = world();
    const events = read(service.generate(request, context()));
    await settle();
    expect(imageJobs.interrupt()).toBe(true);
    expect(await events).toBe('stopped');
    expect(running[0]?.signal.aborted).toBe(true);
  });

  test('a key of the key file neither sees nor stops requests of others', async () => {
    const { service, imageJobs } = world();
    const events = read(service.generate(request, { ...context(), client: 'key one' }));
    await settle();
    expect([imageJobs.progress('', 'key other'), imageJobs.interrupt('', 'key other')]).toEqual([undefined, false]);
    expect(imageJobs.skip('', 'key other')).toBe(false);
    expect(imageJobs.progress('', 'key one')).toBeDefined();
    expect(imageJobs.interrupt('', 'key one')).toBe(true);
    expect(await events).toBe('stopped');
  });

  test('leaves queued requests', async () => {
    const { service, imageJobs, running } = world();
    const both = [1, 2].map((seed) => read(service.generate({ ...request, seed }, context())));
    await settle();
    imageJobs.interrupt();
    expect(await both[0]).toBe('stopped');
    await settle();
    expect(running.map(({ seed, signal }) => [seed, signal.aborted])).toEqual([
      [1, true],
      [2, false],
    ]);
    running[1]?.events.end();
    expect(await both[1]).toBe('end');
  });

  test('does nothing without a running request', () => {
    expect(world().imageJobs.interrupt()).toBe(false);
  });

  test('frees the place in the queue', async () => {
    const { service, imageJobs, queue } = world();
    const events = read(service.generate(request, context()));
    await settle();
    imageJobs.interrupt();
    await events;
    await settle();
    expect([queue.running, queue.waiting]).toEqual([0, 0]);
  });
});

describe('imageService: skip', () => {
  const finish: ImageEvent = {
    type: 'finish',
    width: 64,
    height: 64,
    steps: 8,
    sampler: '',
    scheduler: '',
    notes: [],
  };
  /** Reads to the end: the place and seed of each picture, and how it ended. */
  async function images(events: AsyncIterable<ImageEvent>): Promise<string> {
    const seen: string[] = [];
    try {
      for await (const event of events) {
        seen.push(event.type === 'image' ? `${event.index}:${event.seed}` : event.type);
      }
      return seen.join(' ');
    } catch (error) {
      return [...seen, (error as AppError).code].join(' ');
    }
  }
  const drawnWith = (seed: number, index = 0): ImageEvent => ({ ...image, index, seed }) as ImageEvent;

  test('continues with the next image, with its index and seed', async () => {
    const { service, imageJobs, running } = world();
    const events = images(service.generate({ ...request, seed: 10, count: 4 }, context()));
    await settle();
    running[0]?.events.push(drawnWith(10));
    running[0]?.events.push(step(3));
    await settle();
    expect(imageJobs.skip()).toBe(true);
    expect(imageJobs.progress()).toMatchObject({ skipped: true, step: 3, images: 1 });
    await settle();
    expect(running.map(({ seed, count, signal }) => [seed, count, signal.aborted])).toEqual([
      [10, 4, true],
      [12, 2, false],
    ]);
    expect(imageJobs.progress()).toMatchObject({ skipped: false, step: 0, images: 2, count: 4 });
    for (const event of [drawnWith(12), drawnWith(13, 1), finish]) running[1]?.events.push(event);
    running[1]?.events.end();
    expect(await events).toBe('0:10 progress 2:12 3:13 finish');
  });

  test('of the last image ends the request without an error', async () => {
    const { service, imageJobs, running, queue } = world();
    const events = images(service.generate({ ...request, seed: 10, count: 2 }, context()));
    await settle();
    running[0]?.events.push(drawnWith(10));
    await settle();
    imageJobs.skip();
    expect(await events).toBe('0:10');
    await settle();
    expect([running.length, queue.running, imageJobs.progress()]).toEqual([1, 0, undefined]);
  });

  test('does nothing when all images are done', async () => {
    const { service, imageJobs, running } = world();
    const events = images(service.generate({ ...request, count: 1 }, context()));
    await settle();
    running[0]?.events.push(drawnWith(1));
    await settle();
    expect(imageJobs.skip()).toBe(true);
    running[0]?.events.push(finish);
    running[0]?.events.end();
    expect(await events).toBe('0:1 finish');
  });

  test('interrupt still works', async () => {
    const { service, imageJobs, running } = world();
    const events = images(service.generate({ ...request, count: 3 }, context()));
    await settle();
    imageJobs.skip();
    await settle();
    imageJobs.interrupt();
    expect(await events).toBe('stopped');
    expect(running.length).toBe(2);
  });

  test('does not hide an engine error', async () => {
    const { service, running } = world();
    const events = images(service.generate({ ...request, count: 3 }, context()));
    await settle();
    const [first] = running;
    if (first) first.failure = new AppError('engine-lost', { capability: 'image' });
    first?.events.end();
    expect(await events).toBe('engine-lost');
    expect(running.length).toBe(1);
  });

  test('does nothing without a running request', () => {
    expect(world().imageJobs.skip()).toBe(false);
  });
});

test('imageService: upscaling queues with drawing', async () => {
  const { service, running } = world();
  const events = read(service.generate(request, context()));
  await settle();
  let done = false;
  const work = service.upscale({ image: Uint8Array.of(), upscaler: 'None', width: 9, height: 9 }, context());
  void work.then(() => {
    done = true;
  });
  await settle();
  expect(done).toBe(false);
  running[0]?.events.end();
  await events;
  expect(await work).toEqual(Uint8Array.of(9));
});

test('imageService: model facts are those of the engine once loaded, and the known ones before', () => {
  const { requestQueue, imageJobs } = world();
  const found: ImageFacts = { ...facts, name: 'found', samplers: ['Heun'] };
  let present: ImageEngine | undefined;
  const source: EngineSource<ImageEngine> = {
    name: 'far',
    use: () => Promise.reject(new Error('away')),
    peek: () => present,
    state: () => ({ type: 'unloaded' }),
  };
  const service = imageService({ requestQueue, source: { ...source, facts }, imageJobs, work });
  expect(service.facts).toBe(facts);
  const engine = { facts: () => found, generate: async function* () {}, upscale: async () => new Uint8Array() };
  present = engine;
  expect(service.facts.samplers).toEqual(['Heun']);
  present = { ...engine, facts: () => undefined };
  expect(service.facts).toBe(facts);
});
