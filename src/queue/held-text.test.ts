import { expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import { plainRequest } from '../core/testing/plain-request.ts';
import { fixedTextSource, type GenerationSink } from '../core/text-service.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { Queue } from './queue.ts';
import { RequestQueue } from './request-queue.ts';
import { textService } from './text.ts';

const later = () => new Promise((resolve) => setImmediate(resolve));
const timings = { initMs: 1, promptMs: 1, generationMs: 1, processedTokens: 1 };
const usage = { promptTokens: 1, cachedTokens: 0, completionTokens: 1 };
const finish = { type: 'finish', reason: 'stop', cause: 'end-token', usage, timings } as const;
const aborted = { type: 'finish', reason: 'aborted', cause: 'aborted', usage, timings } as const;
const start = { type: 'start', promptTokens: 1, cachedTokens: 0, maxTokens: 9, seed: 1 } as const;
const text = (piece: string) => ({ type: 'text-delta', text: piece }) as const;

/** One engine with one place, that can hold generations or not. */
function world({ canHold = true } = {}) {
  const calls: string[] = [];
  const sinks = new Map<string, GenerationSink>();
  const engine = {
    ...fakeEngine({ script: () => ({ pieces: [] }), pace: () => {} }),
    generate: ({ prompt }: GenerationRequest, _seed: number, sink: GenerationSink) => {
      calls.push(`${prompt} begins`);
      sinks.set(prompt, sink);
      const call = (what: string) => () => void calls.push(`${prompt} ${what}`);
      return { abort: call('aborted'), ...(canHold && { hold: call('held'), proceed: call('proceeds') }) };
    },
  };
  let present: typeof engine | undefined = engine;
  const source = { ...fixedTextSource(engine), peek: () => present };
  const requestQueue = new RequestQueue(new Queue({ capacity: 1, maxRequests: () => 10, now: () => 0 }), () => 0);
  const service = textService({ source, requestQueue, randomSeed: () => 1 });
  const ask = (prompt: string, isBackground = false) => {
    const events: GenerationEvent[] = [];
    const stop = new AbortController();
    const gaveUp = { times: 0 };
    const giveWay = () => {
      gaveUp.times += 1;
      stop.abort();
    };
    const context = { genkey: prompt, client: prompt, signal: stop.signal, ...(isBackground && { giveWay }) };
    void (async () => {
      for await (const event of service.generate(plainRequest(prompt, 9), context)) events.push(event);
    })();
    const written = () => events.map((event) => (event.type === 'text-delta' ? event.text : '')).join('');
    return { events, gaveUp, written, say: (event: GenerationEvent) => sinks.get(prompt)?.event(event) };
  };
  const unload = () => {
    present = undefined;
  };
  return { ask, calls, unload, requestQueue };
}

test('text service: a text of the background is held while a person is served, and goes on where it was', async () => {
  const { ask, calls } = world();
  const batch = ask('batch', true);
  await later();
  batch.say(start);
  batch.say(text('One '));
  const person = ask('person');
  await later();
  expect(calls).toEqual(['batch begins', 'batch held', 'person begins']);
  person.say(start);
  person.say(finish);
  await later();
  expect(calls.at(-1)).toBe('batch proceeds');
  batch.say(text('two'));
  batch.say(finish);
  await later();
  expect(batch.written()).toBe('One two');
  expect([batch.gaveUp.times, batch.events.at(-1)?.type]).toEqual([0, 'finish']);
});

test('text service: a text of the background is given up where the engine cannot hold it', async () => {
  const { ask, calls } = world({ canHold: false });
  const batch = ask('batch', true);
  await later();
  const person = ask('person');
  await later();
  expect([batch.gaveUp.times, calls]).toEqual([1, ['batch begins', 'batch aborted']]);
  batch.say(aborted);
  await later();
  expect(calls.at(-1)).toBe('person begins');
  person.say(finish);
});

test('text service: a held text that the engine has ended is given up, not taken for a reply', async () => {
  const { ask } = world();
  const batch = ask('batch', true);
  await later();
  batch.say(start);
  ask('person');
  await later();
  batch.say(aborted);
  expect(batch.gaveUp.times).toBe(1);
});

test('text service: a held text whose model was unloaded is given up when its turn comes', async () => {
  const { ask, unload } = world();
  const batch = ask('batch', true);
  await later();
  batch.say(start);
  const person = ask('person');
  await later();
  unload();
  expect(batch.gaveUp.times).toBe(0);
  person.say(start);
  person.say(finish);
  await later();
  expect(batch.gaveUp.times).toBe(1);
});

test('text service: texts of the background, held or not, are given up when the queue is closed', async () => {
  for (const isHeld of [false, true]) {
    const { ask, requestQueue } = world();
    const batch = ask('batch', true);
    await later();
    batch.say(start);
    if (isHeld) ask('person');
    await later();
    requestQueue.close();
    expect(batch.gaveUp.times).toBe(1);
  }
});
