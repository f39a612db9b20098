import { expect, test } from 'vitest';
import { abortedUnstarted, type GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import { plainRequest } from '../core/testing/plain-request.ts';
import { fixedTextSource, type GenerationSink } from '../core/text-service.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { textService } from './text.ts';
import { WorkEstimate } from './work-estimate.ts';

const later = () => new Promise((resolve) => setImmediate(resolve));
const timings = { initMs: 1, promptMs: 1000, generationMs: 10, processedTokens: 1000 };
const finish = (cause: 'limit' | 'aborted', promptTokens: number, cachedTokens: number) => ({
  ...({ type: 'finish', reason: cause === 'limit' ? 'length' : 'aborted', cause, timings } as const),
  usage: { promptTokens, cachedTokens, completionTokens: cause === 'limit' ? 1 : 0 },
});

interface Begun {
  readonly prompt: string;
  readonly seed: number;
  readonly sink: GenerationSink;
  readonly interrupts: number[];
  aborted: boolean;
}

/** A service over an engine that does what the test says; a prompt is as many tokens as it says, and nothing is cached. */
async function world() {
  const begun: Begun[] = [];
  let seeds = 0;
  const engine = {
    ...fakeEngine({ script: () => ({ pieces: [] }), pace: () => {} }),
    uncachedTokens: async ({ prompt }: GenerationRequest) => Number(prompt),
    generate: ({ prompt }: GenerationRequest, seed: number, sink: GenerationSink) => {
      const one: Begun = { prompt, seed, sink, interrupts: [], aborted: false };
      begun.push(one);
      return { abort: () => (one.aborted = true), interrupt: (minTokens: number) => one.interrupts.push(minTokens) };
    },
  };
  const requestQueue = new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10, now: () => 0 }), () => 0);
  const service = textService({ source: fixedTextSource(engine), requestQueue, randomSeed: () => ++seeds });
  const start = (tokens: number, cachedTokens = 0, seed = 1) =>
    ({ type: 'start', promptTokens: tokens, cachedTokens, maxTokens: 1, seed }) as const;
  const ask = (tokens: number, client = 'a') => {
    const events: GenerationEvent[] = [];
    const stop = new AbortController();
    const context = { genkey: String(tokens), part: '', client, signal: stop.signal };
    const generated = service.generate(plainRequest(String(tokens), 1), context);
    void (async () => {
      for await (const event of generated) events.push(event);
    })();
    return { events, stop, position: () => service.queuePosition(String(tokens), client)?.position };
  };
  // The first text tells how fast the engine is: a millisecond for each token.
  ask(1000);
  await later();
  begun[0]?.sink.event(start(1000));
  begun[0]?.sink.event(finish('limit', 1000, 0));
  await later();
  begun.length = 0;
  return { service, ask, begun, start };
}

test('text service: of the waiting requests of a client, the one with the fewest tokens to compute begins first', async () => {
  const { ask, begun } = await world();
  const [, long, short] = [ask(10), ask(5000), ask(100)];
  await later();
  expect([short.position(), long.position()]).toEqual([1, 2]);
  begun[0]?.sink.event(finish('limit', 10, 0));
  await later();
  expect(begun.map(({ prompt }) => prompt)).toEqual(['10', '100']);
});

test('text service: a prompt is interrupted for a far shorter request, and its client sees one reply', async () => {
  const { ask, begun, start, service } = await world();
  const long = ask(5000);
  await later();
  const [first] = begun as [Begun];
  first.sink.event(start(5000));
  const short = ask(100);
  await later();
  expect(first.interrupts).toHaveLength(1);
  first.sink.event({ type: 'warning', code: 'a', text: 'A warning.' });
  first.sink.event(finish('aborted', 5000, 0));
  await later();
  expect([short.position(), long.position(), begun.map(({ prompt }) => prompt)]).toEqual([
    undefined,
    1,
    ['5000', '100'],
  ]);
  begun[1]?.sink.event(start(100));
  begun[1]?.sink.event(finish('limit', 100, 0));
  await later();
  const again = begun[2] as Begun;
  expect([again.prompt, again.seed]).toEqual(['5000', first.seed]);
  again.sink.event(start(5000, 1000));
  again.sink.event({ type: 'warning', code: 'a', text: 'A warning.' });
  again.sink.event({ type: 'text-delta', text: 'x' });
  again.sink.event(finish('limit', 5000, 1000));
  await later();
  expect(long.events).toEqual([
    start(5000),
    { type: 'warning', code: 'a', text: 'A warning.' },
    { type: 'text-delta', text: 'x' },
    {
      ...finish('limit', 5000, 0),
      timings: { initMs: 2, promptMs: 2000, generationMs: 10, processedTokens: 2000 },
    },
  ]);
  expect(service.performance()).toMatchObject({ idle: true, waiting: 0 });
});

test('text service: a request that writes is not interrupted', async () => {
  const { ask, begun, start } = await world();
  ask(5000);
  await later();
  begun[0]?.sink.event(start(5000));
  begun[0]?.sink.event({ type: 'text-delta', text: 'x' });
  ask(100);
  await later();
  expect(begun[0]?.interrupts).toEqual([]);
});

test('text service: nor is one of about the same size', async () => {
  const { ask, begun, start } = await world();
  ask(5000);
  await later();
  begun[0]?.sink.event(start(5000));
  ask(4000);
  await later();
  expect(begun[0]?.interrupts).toEqual([]);
});

test('text service: an engine that does not stop for the shorter request finishes the reply first', async () => {
  const { ask, begun, start } = await world();
  const long = ask(5000);
  await later();
  begun[0]?.sink.event(start(5000));
  ask(100);
  await later();
  begun[0]?.sink.event({ type: 'text-delta', text: 'x' });
  begun[0]?.sink.event(finish('limit', 5000, 0));
  await later();
  expect(long.events.map(({ type }) => type)).toEqual(['start', 'text-delta', 'finish']);
  expect(begun.map(({ prompt }) => prompt)).toEqual(['5000', '100']);
});

test('text service: a client that disconnects while its interrupted request waits gets no second generation', async () => {
  const { ask, begun, start } = await world();
  const long = ask(5000);
  await later();
  begun[0]?.sink.event(start(5000));
  ask(100);
  await later();
  begun[0]?.sink.event(finish('aborted', 5000, 0));
  await later();
  long.stop.abort();
  await later();
  begun[1]?.sink.event(finish('limit', 100, 0));
  await later();
  expect(long.events).toEqual([start(5000), abortedUnstarted]);
  expect(begun.map(({ prompt }) => prompt)).toEqual(['5000', '100']);
});

test('WorkEstimate: unknown before the first text, then by the tokens of all, the last ones more', () => {
  const estimate = new WorkEstimate();
  expect(estimate.seconds(1000, 10)).toBeUndefined();
  const usage = { promptTokens: 1000, cachedTokens: 0, completionTokens: 20 };
  estimate.finished({ usage, timings: { initMs: 0, promptMs: 2000, generationMs: 400, processedTokens: 1000 } });
  expect(estimate.seconds(1000, 10)).toBeCloseTo(2.2);
  expect(estimate.seconds(1000, 1000)).toBeCloseTo(2.4);
  expect(estimate.promptTokens(4)).toBeCloseTo(2000);
  // A step of its own for one token says little of the speed.
  estimate.finished({ usage, timings: { initMs: 0, promptMs: 30, generationMs: 400, processedTokens: 1 } });
  expect(estimate.seconds(1000, 0)).toBeCloseTo(2.03, 1);
});
