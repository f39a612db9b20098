import fc from 'fast-check';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { finishEvent, startEvent } from './doubles.ts';

/** Everything that a generation can do, and every way in which it can end, at any point. */
export interface RandomReply {
  readonly events: readonly GenerationEvent[];
  /** What comes instead of a last event. */
  readonly breaks: 'no' | 'throws' | 'just ends';
}

const words = fc.string({ unit: 'grapheme', maxLength: 6 });

const spoken = fc
  .array(words, { minLength: 1, maxLength: 4 })
  .chain((pieces) =>
    fc
      .constantFrom('text-delta' as const, 'reasoning-delta' as const)
      .map((type) => pieces.map((text): GenerationEvent => ({ type, text }))),
  );

const warning = words.map((text): GenerationEvent[] => [{ type: 'warning', code: 'odd', text }]);

/** The arguments are an object, told in pieces of any size. */
const call = fc
  .tuple(words, fc.dictionary(words, fc.oneof(words, fc.integer()), { maxKeys: 2 }), fc.integer({ min: 1, max: 9 }))
  .map(([name, given, size]) => {
    const json = JSON.stringify(given);
    const pieces = json.match(new RegExp(`.{1,${size}}`, 'gsu')) ?? [];
    return (index: number): GenerationEvent[] => [
      { type: 'tool-start', index, id: `call_${index}`, name: `f${name}` },
      ...pieces.map((piece): GenerationEvent => ({ type: 'tool-delta', index, json: piece })),
      { type: 'tool-end', index },
    ];
  });

/** Text first and calls last, as models speak; warnings anywhere. */
const whole = fc
  .tuple(fc.array(fc.oneof(spoken, warning), { maxLength: 5 }), fc.array(call, { maxLength: 3 }))
  .map(([said, calls]) => [startEvent(), ...said.flat(), ...calls.flatMap((make, index) => make(index))]);

const usage = { promptTokens: 7, cachedTokens: 3, completionTokens: 5 };
const cuts: readonly (() => RandomReply)[] = [
  () => ({ events: [finishEvent({ reason: 'aborted', cause: 'aborted', usage })], breaks: 'no' }),
  () => ({ events: [finishEvent({ reason: 'length', cause: 'limit', usage })], breaks: 'no' }),
  () => ({ events: [{ type: 'error', error: new AppError('engine-lost', { capability: 'text' }) }], breaks: 'no' }),
  () => ({ events: [{ type: 'error', error: new AppError('busy', { retryAfterSeconds: 1 }) }], breaks: 'no' }),
  () => ({ events: [], breaks: 'throws' }),
  () => ({ events: [], breaks: 'just ends' }),
];

/** Cut anywhere by an abort, the limit or a failure: also before its beginning, and in the middle of a call. */
const cutReply = fc.tuple(whole, fc.nat(), fc.constantFrom(...cuts)).map(([events, at, cut]): RandomReply => {
  const ending = cut();
  return { ...ending, events: [...events.slice(0, at % (events.length + 1)), ...ending.events] };
});

const wholeReply = whole.map((events): RandomReply => {
  const called = events.some(({ type }) => type === 'tool-start');
  return { events: [...events, finishEvent({ reason: called ? 'tool-calls' : 'stop' })], breaks: 'no' };
});

/** With calls, for chats. */
export const randomReply: fc.Arbitrary<RandomReply> = fc.oneof(wholeReply, cutReply);

const isCall = ({ type }: GenerationEvent): boolean => type.startsWith('tool-');

/** For plain texts: nobody looks for calls or thinking in them. */
export const randomText: fc.Arbitrary<RandomReply> = randomReply.map(({ events, breaks }) => ({
  breaks,
  events: events
    .filter((event) => !isCall(event))
    .map((event): GenerationEvent => {
      if (event.type === 'reasoning-delta') return { ...event, type: 'text-delta' };
      return event.type === 'finish' && event.reason === 'tool-calls' ? finishEvent() : event;
    }),
}));

export async function* playReply({ events, breaks }: RandomReply): AsyncGenerator<GenerationEvent> {
  yield* events;
  if (breaks === 'throws') throw new Error('the line is cut');
}

export const fails = ({ events, breaks }: RandomReply): boolean =>
  breaks === 'throws' || events.at(-1)?.type === 'error';
