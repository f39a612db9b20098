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
