import { expect, test } from 'vitest';
import type { GenerationRequest } from '../core/request.ts';
import type { GenerationSink } from '../core/text-engine.ts';
import { RestingEngine, type StartableEngine } from './resting.ts';

const never = () => Promise.reject(new Error('nobody asks this'));

/** Timers that fire when the test says so, and engines that only note what happens to them: test doubles. */
function world() {
  const log: string[] = [];
  const sinks: GenerationSink[] = [];
  let timers: { milliseconds: number; action: () => void }[] = [];
  let made = 0;
  const create = (): StartableEngine => {
    const name = `engine ${++made}`;
    return {
      start: () => log.push(`${name} starts`),
      stop: async () => {
        log.push(`${name} stops`);
      },
      state: () => ({ type: 'ready', model: { name: 'm', contextSize: 99 } as never }),
      contextSize: () => 99,
      settled: () => Promise.resolve(),
      generate: (_request, _seed, sink) => {
        sinks.push(sink);
        return { abort: () => {} };
      },
      tokenize: async () => [1],
      detokenize: async () => 'x',
      pieces: async () => ['x', [195]],
      states: {
        count: 5,
        check: never,
        save: async (place) => ({ tokens: place, bytes: 1 }),
        load: never,
        clear: never,
      },
    };
  };
  const engine = new RestingEngine({
    create,
    now: () => 1000,
    startTimer: (milliseconds, action) => {
      const timer = { milliseconds, action };
      timers.push(timer);
      return { cancel: () => (timers = timers.filter((one) => one !== timer)) };
    },
  });
  const fire = () => {
    const due = timers;
    timers = [];
    for (const { action } of due) action();
  };
  return { engine, log, sinks, fire, timers: () => timers.map(({ milliseconds }) => milliseconds) };
}

const request = {} as GenerationRequest;
const finish = { type: 'error', error: new Error('over') } as never;

test('what is asked of it is asked of the engine', async () => {
  const { engine } = world();
  expect(await engine.tokenize('x', { addSpecial: false, parseSpecial: false })).toEqual([1]);
  expect(await engine.detokenize([1], { renderSpecial: true })).toBe('x');
  expect(await engine.pieces([1, 2])).toEqual(['x', [195]]);
});

test('without a wish it stays for ever', () => {
  const { engine, timers } = world();
  engine.start();
  expect(timers()).toEqual([]);
  expect(engine.expiresAt).toBe(Number.POSITIVE_INFINITY);
});

test('after the time it gives its memory back, and still says what it is', () => {
  const { engine, log, fire } = world();
  engine.start();
  engine.restAfter(5000);
  expect(engine.expiresAt).toBe(6000);
  fire();
  expect(log).toEqual(['engine 1 starts', 'engine 1 stops']);
  expect(engine.loaded).toBe(false);
  expect([engine.state().type, engine.contextSize()]).toEqual(['ready', 99]);
});

test('the next who needs it wakes it', async () => {
  const { engine, log, fire } = world();
  engine.start();
  engine.restAfter(0);
  fire();
  await engine.settled();
  expect(log).toEqual(['engine 1 starts', 'engine 1 stops', 'engine 2 starts']);
  expect(engine.loaded).toBe(true);
});

test('it never rests while somebody is served, and the time runs from the end of the work', () => {
  const { engine, sinks, timers, log } = world();
  engine.start();
  engine.restAfter(5000);
  engine.generate(request, 1, { event: () => {} });
  expect(timers()).toEqual([]);
  sinks[0]?.event(finish);
  expect(timers()).toEqual([5000]);
  expect(log).toEqual(['engine 1 starts']);
});

test('a wish to let go is about this load only', async () => {
  const { engine, fire, timers, log } = world();
  engine.start();
  engine.restAfter(0);
  fire();
  await engine.settled();
  fire();
  expect(timers()).toEqual([]);
  expect(log.at(-1)).toBe('engine 2 starts');
});

test('whoever waits for an answer keeps it awake', async () => {
  const { engine, fire, log } = world();
  engine.start();
  engine.restAfter(0);
  const answer = engine.tokenize('x', { addSpecial: false });
  fire();
  expect(await answer).toEqual([1]);
  expect(log).toEqual(['engine 1 starts']);
});

test('a model that rests has no states, and a look for them does not wake it', async () => {
  const { engine, log, fire } = world();
  engine.start();
  expect(await engine.states?.save(2)).toEqual({ tokens: 2, bytes: 1 });
  engine.restAfter(10);
  fire();
  expect(engine.states).toBeUndefined();
  expect(log).toEqual(['engine 1 starts', 'engine 1 stops']);
});

test('a request that comes right after a wish to let go overtakes it', () => {
  const { engine, sinks, fire, log } = world();
  engine.start();
  engine.restAfter(0);
  engine.generate(request, 1, { event: () => {} });
  sinks[0]?.event(finish);
  fire();
  expect(log).toEqual(['engine 1 starts']);
});
