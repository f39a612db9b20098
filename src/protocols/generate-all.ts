import { Channel } from '../core/channel.ts';
import { asAppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { RequestContext } from '../core/request-context.ts';
import { steps } from '../core/steps.ts';
import type { Reservation, TextService } from '../core/text-service.ts';

/**
 * Several generations for one client, in parallel on free slots; throws `busy` at once. Between two of them other requests
 * have their turns. To stop one stops them all. They do not wait for their readers, so that slots are always released.
 */
export function generateAll(
  text: TextService,
  requests: readonly GenerationRequest[],
  requestContext: RequestContext,
): AsyncIterable<GenerationEvent>[] {
  const [first, ...more] = requests;
  if (!first) return [];
  if (more.length === 0) return [text.generate(first, requestContext)];
  const stop = new AbortController();
  const signal = AbortSignal.any([requestContext.signal, stop.signal]);
  // They differ only in prompts, media and seeds: the one with the most media is used for admission.
  const largest = requests.reduce((one, other) => (other.media.length > one.media.length ? other : one));
  const runs = requests.map((request) => ({ request, channel: new Channel<GenerationEvent>(() => stop.abort()) }));
  const left = [...runs];

  async function work(reservation: Reservation): Promise<void> {
    for (let run = left.shift(); run; run = left.shift()) {
      const generation = generateOne(reservation, run);
      widen();
      await generation;
      if (left.length > 0) reservation.pass();
    }
    reservation.release();
  }

  async function generateOne(reservation: Reservation, { request, channel }: (typeof runs)[number]): Promise<void> {
    try {
      for await (const event of reservation.generate(request)) {
        channel.push(event);
        // The reader may stop at it, which must not stop the others.
        if (event.type === 'error') channel.end();
        if (event.type === 'finish' && event.reason === 'aborted') stop.abort();
      }
    } catch (error) {
      channel.push({ type: 'error', error: asAppError(error) });
    }
    channel.end();
  }

  /** Takes another slot if one is free. It starts at once, so its queue position is not reported. */
  function widen(): void {
    if (left.length === 0 || signal.aborted || text.room(largest) === 0) return;
    const { onQueued: _, ...silent } = requestContext;
    try {
      void work(text.reserve({ ...silent, signal }, largest));
    } catch {
      // The last slots are reserved for other clients.
    }
  }

  void work(text.reserve({ ...requestContext, signal }, largest));
  return runs.map(({ channel }) => channel);
}

type IndexedEvent = readonly [index: number, event: GenerationEvent];

/** The events of several replies as they come, each with the index of its reply. To stop reading stops them all. */
export function mergedReplies(replies: readonly AsyncIterable<GenerationEvent>[]): AsyncIterable<IndexedEvent> {
  const iterators = replies.map((events) => events[Symbol.asyncIterator]());
  const [only, second] = iterators;
  if (only && !second) return numbered(only);
  const merged = new Channel<IndexedEvent>(() => {
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

/** A single reply is read only as fast as its client reads. */
function numbered(events: AsyncIterator<GenerationEvent>): AsyncIterable<IndexedEvent> {
  const next = async (): Promise<IteratorResult<IndexedEvent>> => {
    const { done, value } = await events.next();
    return done ? { done, value: undefined } : { done: false, value: [0, value] };
  };
  return steps(next, () => events.return?.());
}

async function readAll(iterator: AsyncIterator<GenerationEvent>, take: (event: GenerationEvent) => void) {
  try {
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) take(step.value);
  } catch (error) {
    take({ type: 'error', error: asAppError(error) });
  }
}
