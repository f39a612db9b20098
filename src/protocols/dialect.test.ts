import { expect, test } from 'vitest';
import type { GenerationEvent } from '../core/events.ts';
import type { StartTimer } from '../http/timers.ts';
import { reasoningControl, streamReply } from './dialect.ts';
import { finishEvent, play, startEvent } from './testing/doubles.ts';

const patient: StartTimer = () => ({ restart: () => undefined, cancel: () => undefined });
const impatient: StartTimer = (_, passed) => {
  passed();
  return patient(0, passed);
};

async function* types(events: AsyncIterable<GenerationEvent>): AsyncGenerator<string> {
  for await (const { type } of events) yield type;
}

async function streamed(events: readonly GenerationEvent[], startTimer: StartTimer) {
  const reply = await streamReply(play(events), types, { headers: { a: 'b' }, filler: '', startTimer });
  const frames: string[] = [];
  if ('stream' in reply) for await (const frame of reply.stream) frames.push(frame as string);
  return { headers: reply.headers, frames };
}

test.each<[string, StartTimer, number, object]>([
  ['tells in a header what did not fit', patient, 12, { a: 'b', 'x-parley-dropped-tokens': '12' }],
  ['has no such header when all did fit', patient, 0, { a: 'b' }],
  ['that had to wait for its turn cannot tell any more', impatient, 12, { a: 'b' }],
])('a stream %s', async (_, startTimer, droppedTokens, headers) => {
  const events = [startEvent({ droppedTokens }), finishEvent()];
  expect(await streamed(events, startTimer)).toEqual({ headers, frames: ['start', 'finish'] });
});

test.each([
  ['low', undefined, { type: 'share', share: 0.25 }],
  ['low', 50, { type: 'tokens', tokens: 50 }],
  ['xhigh', undefined, undefined],
  ['constructor', undefined, undefined],
  [undefined, -1, undefined],
] as const)('the effort %s with %s tokens is the budget %o', (effort, tokens, budget) => {
  expect(reasoningControl(effort, tokens)).toEqual({ effort, budget });
});
