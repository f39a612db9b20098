import { abortedUnstarted, emptyStart, type GenerationEvent } from '../core/events.ts';
import type { Reservation } from '../core/text-service.ts';
import type { StartTimer } from '../core/timers.ts';
import type { DialectContext } from '../protocols/dialect.ts';
import type { RequestRecord, TimedEvents } from './record.ts';

const neverFires: StartTimer = () => ({ restart: () => undefined, cancel: () => undefined });

/**
 * The context of a model whose replies are those of a record: a dialect that is called with it encodes them again. Times and ids
 * come from the record, so that the result is always the same. Nothing is generated, queued, stored or unloaded.
 */
export function playbackContext<Context extends DialectContext>(context: Context, record: RequestRecord): Context {
  let elapsed = record.times.decoded ?? 0;
  let ids = 0;
  let generations = 0;

  async function* play({ events, times }: TimedEvents): AsyncGenerator<GenerationEvent> {
    // A reply that was stopped before it began.
    if (events[0]?.type !== 'start' && events[0]?.type !== 'error') yield emptyStart(0, 0);
    for (const [index, event] of events.entries()) {
      elapsed = times[index] ?? elapsed;
      yield event;
    }
    if (events.length === 0) yield abortedUnstarted;
  }
  const nothing: TimedEvents = { events: [], times: [] };
  const generate = () => {
    generations += 1;
    return play(record.generations[generations - 1] ?? nothing);
  };
  const reservation: Reservation = {
    generate,
    pass: () => undefined,
    rest: () => undefined,
    stopped: new AbortController().signal,
    release: () => undefined,
  };
  const isReady = context.text.state().type === 'ready';
  const text: DialectContext['text'] = {
    ...context.text,
    generate,
    reserve: () => reservation,
    room: () => 0,
    keepFor: () => undefined,
    // A model that is not loaded stays so: a reply has then no tokens where its dialect adds some.
    ...(!isReady && { tokenize: async () => [], detokenize: async () => '' }),
  };
  const chat: DialectContext['chat'] = {
    ...context.chat,
    reply: () => play(record.replies[0] ?? nothing),
    replies: (_request, _requestContext, count) =>
      Array.from({ length: count }, (_, index) => play(record.replies[index] ?? nothing)),
    // Whatever was dropped of the conversation has been dropped.
    countTokens: async () => 0,
  };
  const stem = record.head.id.replace(/^[a-z]+_/, '').replaceAll('-', '');
  return {
    ...context,
    text,
    chat,
    modelName: () => record.model || context.modelName(),
    now: () => record.startedAt + elapsed,
    newId: (prefix: string) => {
      ids += 1;
      return `${prefix}${stem}${ids > 1 ? String(ids) : ''}`;
    },
    startTimer: neverFires,
  };
}
