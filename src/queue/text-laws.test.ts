import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { builtInAdapters, type ChatAdapter } from '../chat/adapters/adapter.ts';
import { noTemplate } from '../chat/prompt.ts';
import { chatService } from '../chat/service.ts';
import { chatRequest, time, weather } from '../chat/testing/scripted-text.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { RequestContext } from '../core/request-context.ts';
import { plainRequest } from '../core/testing/plain-request.ts';
import { fixedTextSource, type TextState } from '../core/text-service.ts';
import { fakeEngine, type Script } from '../engines/testing/fake-engine.ts';
import { type Admission, Queue, type QueueRequest } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { textService } from './text.ts';

/**
 * For any order of events (turns, aborts, disconnects, an engine that loads, fails or crashes), every admitted request
 * has exactly one end, after exactly one start unless it failed, and its place is released once.
 */
type Action =
  | { readonly type: 'ask'; readonly key: number; readonly how: 'text' | 'chat' | 'tools' | 'two' }
  | { readonly type: 'step' | 'turn' }
  | { readonly type: 'abort'; readonly key: number }
  | { readonly type: 'gone' | 'stops-reading'; readonly request: number }
  | { readonly type: 'engine'; readonly state: 'ready' | 'loading' | 'failed' };

const key = fc.nat({ max: 3 });
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    type: fc.constant('ask' as const),
    key,
    how: fc.constantFrom('text' as const, 'chat' as const, 'tools' as const, 'two' as const),
  }),
  { weight: 4, arbitrary: fc.record({ type: fc.constantFrom('step' as const, 'turn' as const) }) },
  fc.record({ type: fc.constant('abort' as const), key }),
  fc.record({ type: fc.constantFrom('gone' as const, 'stops-reading' as const), request: fc.nat({ max: 9 }) }),
  fc.record({
    type: fc.constant('engine' as const),
    state: fc.constantFrom('ready' as const, 'loading' as const, 'failed' as const),
  }),
);
const script: fc.Arbitrary<Script> = fc.record({
  pieces: fc.array(fc.constantFrom('a', '', '<think>', '</think>', '{"a":1}'), { maxLength: 3 }),
  end: fc.constantFrom('end-token' as const, 'limit' as const, 'lost' as const),
});

/** Counts how often each place is given back. */
class WatchedQueue extends Queue {
  readonly left: number[] = [];

  override enter(request?: QueueRequest): Admission {
    const place = super.enter(request);
    const index = this.left.push(0) - 1;
    const leave = () => {
      this.left[index] = (this.left[index] ?? 0) + 1;
      place.leave();
    };
    return { ...place, leave };
  }
}

interface Reader {
  readonly gone: AbortController;
  readonly events: GenerationEvent[];
  readonly done: Promise<void>;
  stop(): void;
}

function read(events: AsyncIterable<GenerationEvent>, gone: AbortController): Reader {
  const iterator = events[Symbol.asyncIterator]();
  const heard: GenerationEvent[] = [];
  const done = (async () => {
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) heard.push(step.value);
  })();
  return { gone, events: heard, done, stop: () => void iterator.return?.() };
}

const later = () => new Promise((resolve) => setImmediate(resolve));
const unstopped = new WeakSet<Reader>();

function world(scripts: readonly Script[], capacity: number) {
  const paused: (() => void)[] = [];
  let begun = 0;
  const engine = fakeEngine({
    script: () => scripts[begun++ % scripts.length] as Script,
    pace: (next) => paused.push(next),
  });
  const ready = engine.state();
  const states: Record<'ready' | 'loading' | 'failed', TextState> = {
    ready,
    loading: { type: 'loading', name: 'fake', progress: 0 },
    failed: { type: 'failed', name: 'fake', reason: 'no memory' },
  };
  const queue = new WatchedQueue({ capacity, maxRequests: () => capacity + 4 });
  const service = textService({
    source: fixedTextSource(engine),
    requestQueue: new RequestQueue(queue, () => 0),
    ...(capacity > 1 && { sharing: () => ({ type: 'shared' }) }),
    randomSeed: () => 77,
  });
  let ids = 0;
  const chat = chatService({
    text: service,
    tags: (builtInAdapters.ChatML as ChatAdapter).tags,
    tagsWithoutThinking: undefined,
    templateText: undefined,
    template: async () => undefined,
    templateUse: noTemplate,
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => `call_${++ids}`,
    warn: () => undefined,
  });
  const readers: Reader[] = [];

  function ask(how: (Action & { type: 'ask' })['how'], name: number): void {
    const gone = new AbortController();
    const context: RequestContext = { genkey: `k${name}`, client: `c${name}`, signal: gone.signal };
    const tools = how === 'tools' ? [weather, time] : [];
    const streams = () => {
      if (how === 'text') return [service.generate(plainRequest('Hello', 10), context)];
      return chat.replies(chatRequest('Hi', { tools }), context, how === 'two' ? 2 : 1);
    };
    try {
      for (const stream of streams()) readers.push(read(stream, gone));
    } catch (error) {
      // The queue was full.
      expect(error).toMatchObject({ code: 'busy' });
    }
  }

  async function act(next: Action): Promise<void> {
    switch (next.type) {
      case 'ask':
        return ask(next.how, next.key);
      case 'step':
        return paused.shift()?.();
      case 'turn':
        await later();
        return;
      case 'abort':
        service.abort(`k${next.key}`);
        return;
      case 'gone':
        return readers[next.request]?.gone.abort();
      case 'stops-reading': {
        const reader = readers[next.request];
        if (reader) unstopped.add(reader);
        return reader?.stop();
      }
      case 'engine':
        return engine.become(states[next.state]);
    }
  }

  async function settle(): Promise<void> {
    engine.become(ready);
    for (let quiet = 0; quiet < 20; quiet++) {
      await later();
      if (paused.length === 0) continue;
      quiet = 0;
      for (const next of paused.splice(0)) next();
    }
  }
  return { act, settle, readers, queue, service, engine };
}

const endings = ['finish', 'error'];

function expectLawful(events: readonly GenerationEvent[]): void {
  const types = events.map(({ type }) => type);
  expect(types.filter((type) => endings.includes(type))).toEqual([types.at(-1)]);
  const starts = types.filter((type) => type === 'start');
  if (types.at(-1) === 'finish' || types.length > 1) expect([starts.length, types[0]]).toEqual([1, 'start']);
  else expect(starts).toHaveLength(0);
}

describe('text service: for every admitted request', () => {
  test.each([1, 3])('there is one start, one end and one release (%i at a time)', (capacity) =>
    fc.assert(
      fc.asyncProperty(
        fc.array(action, { maxLength: 30 }),
        fc.array(script, { minLength: 1, maxLength: 4 }),
        async (actions, scripts) => {
          const { act, settle, readers, queue, service, engine } = world(scripts, capacity);
          for (const next of actions) await act(next);
          await settle();
          await Promise.all(readers.map(({ done }) => done));
          for (const reader of readers) if (!unstopped.has(reader)) expectLawful(reader.events);
          expect(queue.left).toEqual(queue.left.map(() => 1));
          expect([queue.running, queue.waiting, engine.running]).toEqual([0, 0, 0]);
          expect(service.performance()).toMatchObject({ idle: true, waiting: 0 });
        },
      ),
      { numRuns: 150 },
    ),
  );

  test('the next request is served after any outcome', () =>
    fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 20 }), async (actions) => {
        const { act, settle, readers } = world([{ pieces: ['ok'], end: 'end-token' }], 1);
        for (const next of actions) await act(next);
        await settle();
        const before = readers.length;
        await act({ type: 'ask', key: 9, how: 'text' });
        await settle();
        expect(readers[before]?.events.map(({ type }) => type)).toEqual(['start', 'text-delta', 'finish']);
      }),
      { numRuns: 60 },
    ));
});
