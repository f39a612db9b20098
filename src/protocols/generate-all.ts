import { Channel } from '../core/channel.ts';
import { asAppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';
import type { GenerationRequest, Ticket } from '../core/request.ts';
import type { TextService } from '../core/text-service.ts';

/**
 * Several texts one after the other in one place of the queue; throws `busy` at once. Whoever stops reading one of them
 * stops them all. The work goes on by itself, so that the place is given back even when nobody ever reads.
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
  // They differ in nothing but their prompts, media and seeds: the one with the most media speaks for all.
  const speaker = requests.reduce((one, other) => (other.media.length > one.media.length ? other : one));
  const reservation = text.reserve({ ...ticket, signal: AbortSignal.any([ticket.signal, stop.signal]) }, speaker);
  const runs = requests.map((request) => ({ request, channel: new Channel<GenerationEvent>(() => stop.abort()) }));
  void (async () => {
    for (const { request, channel } of runs) {
      try {
        for await (const event of reservation.generate(request)) channel.push(event);
      } catch (error) {
        channel.push({ type: 'error', error: asAppError(error) });
      }
      channel.end();
    }
    reservation.release();
  })();
  return runs.map(({ channel }) => channel);
}
