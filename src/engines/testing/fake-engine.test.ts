import { expect, test } from 'vitest';
import type { GenerationEvent } from '../../core/events.ts';
import { plainRequest } from '../../core/testing/plain-request.ts';
import { fakeEngine, type Script } from './fake-engine.ts';

function play(script: Script, maxTokens = 10) {
  const waiting: (() => void)[] = [];
  const engine = fakeEngine({ script: () => script, pace: (next) => waiting.push(next) });
  const events: GenerationEvent[] = [];
  const generation = engine.generate(plainRequest('two words', maxTokens), 5, { event: (event) => events.push(event) });
  return { engine, generation, types: () => events.map(({ type }) => type), events, step: () => waiting.shift()?.() };
}

test('fakeEngine: sends its pieces one by one, at the given pace', () => {
  const { types, step, events, engine } = play({ pieces: ['a', 'b'], end: 'end-token' });
  expect(types()).toEqual(['start']);
  step();
  expect(types()).toEqual(['start', 'text-delta']);
  expect(engine.running).toBe(1);
  step();
  step();
  expect(events.at(-1)).toMatchObject({
    type: 'finish',
    reason: 'stop',
    usage: { promptTokens: 2, completionTokens: 2 },
  });
  expect(engine.running).toBe(0);
});

test('fakeEngine: respects maxTokens', () => {
  const { step, events } = play({ pieces: ['a', 'b', 'c'] }, 1);
  step();
  step();
  expect(events.at(-1)).toMatchObject({ type: 'finish', reason: 'length', usage: { completionTokens: 1 } });
});

test('fakeEngine: an abort ends the events', () => {
  const { generation, step, types, events } = play({ pieces: ['a', 'b'] });
  step();
  generation.abort();
  generation.abort();
  step();
  expect(types()).toEqual(['start', 'text-delta', 'finish']);
  expect(events.at(-1)).toMatchObject({ reason: 'aborted' });
});

test('fakeEngine: can fail', () => {
  const { step, events } = play({ pieces: ['a'], end: 'lost' });
  step();
  step();
  expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'engine-lost' } });
});

test('fakeEngine: its state names it as a fake', () => {
  expect(play({ pieces: [] }).engine.state()).toMatchObject({ type: 'ready', model: { name: 'fake' } });
});
