import { Channel } from '../core/channel.ts';
import { asAppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest, Ticket } from '../core/request.ts';
import type { Reservation, TextService } from '../core/text-service.ts';

interface Run {
  readonly request: GenerationRequest;
  readonly channel: Channel<GenerationEvent>;
}

/**
 * Several texts for one client; throws `busy` at once. They come one after the other, and beside each other where places
 * are free that nobody waits for; between two of them others have their turns. Whoever stops reading one of them, or stops
 * one by its key, stops them all. The work goes on by itself, so that places are given back even when nobody ever reads.
 */
export function generateAll(
  text: TextService,
  requests: readonly GenerationRequest[],
  ticket: Ticket,
): AsyncIterable<GenerationEvent>[] {
  const [first, ...more] = requests;
  if (!first) return [];
  if (more.length === 0) return [text.generate(first, ticket)];
  const stop = new AbortController();
  const signal = AbortSignal.any([ticket.signal, stop.signal]);
  // They differ in nothing but their prompts, media and seeds: the one with the most media speaks for all.
  const speaker = requests.reduce((one, other) => (other.media.length > one.media.length ? other : one));
  const runs = requests.map((request): Run => ({ request, channel: new Channel(() => stop.abort()) }));
  const left = [...runs];

  async function work(place: Reservation): Promise<void> {
    for (let run = left.shift(); run; run = left.shift()) {
      const generation = generateOne(place, run, () => stop.abort());
      widen();
      await generation;
      if (left.length > 0) place.pass();
    }
    place.release();
  }

  /** Another place begins at once, and so it does not count as one who waits. */
  function widen(): void {
    if (left.length === 0 || signal.aborted || text.room(speaker) === 0) return;
    const { placed: _, ...unseen } = ticket;
    try {
      void work(text.reserve({ ...unseen, signal }, speaker));
    } catch {
      // The last places are for others.
    }
  }

  void work(text.reserve({ ...ticket, signal }, speaker));
  return runs.map(({ channel }) => channel);
}

async function generateOne(place: Reservation, { request, channel }: Run, stopAll: () => void): Promise<void> {
  try {
    for await (const event of place.generate(request)) {
      channel.push(event);
      if (event.type === 'finish' && event.reason === 'aborted') stopAll();
    }
  } catch (error) {
    channel.push({ type: 'error', error: asAppError(error) });
  }
  channel.end();
}

/** The events of several replies as they come, each with the number of its reply. Whoever stops reading stops them all. */
export function mergedReplies(
  replies: readonly AsyncIterable<GenerationEvent>[],
): AsyncIterable<readonly [index: number, event: GenerationEvent]> {
  const iterators = replies.map((events) => events[Symbol.asyncIterator]());
  const [only, second] = iterators;
  if (only && !second) return numbered(only);
  const merged = new Channel<readonly [number, GenerationEvent]>(() => {
    for (const iterator of iterators) void iterator.return?.();
  });
  let open = iterators.length;
  if (open === 0) merged.end();
  for (const [index, iterator] of iterators.entries()) {
    void readAll(iterator, (event) => merged.push([index, event])).then(() => {
      open -= 1;
      if (open === 0) merged.end();
    });
  }
  return merged;
}

/** One alone is read as fast as it is taken, and no faster. */
function numbered(events: AsyncIterator<GenerationEvent>): AsyncIterable<readonly [number, GenerationEvent]> {
  const next = async (): Promise<IteratorResult<readonly [number, GenerationEvent]>> => {
    const { done, value } = await events.next();
    return done ? { done, value: undefined } : { done: false, value: [0, value] };
  };
  const close = async (): Promise<IteratorResult<readonly [number, GenerationEvent]>> => {
    await events.return?.();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

async function readAll(
  iterator: AsyncIterator<GenerationEvent>,
  take: (event: GenerationEvent) => void,
): Promise<void> {
  try {
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) take(step.value);
  } catch (error) {
    take({ type: 'error', error: asAppError(error) });
  }
}
