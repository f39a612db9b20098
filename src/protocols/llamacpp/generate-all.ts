import { Channel } from '../../core/channel.ts';
import { asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { GenerationRequest, Ticket } from '../../core/request.ts';
import type { TextService } from '../../core/text-service.ts';

/** Several texts one after the other in one place of the queue; throws `busy` at once. */
export function generateAll(
  text: TextService,
  requests: readonly GenerationRequest[],
  ticket: Ticket,
): AsyncIterable<GenerationEvent>[] {
  const [first, ...more] = requests;
  if (!first) return [];
  if (more.length === 0) return [text.generate(first, ticket)];
  const stop = new AbortController();
  // They differ only in their prompts, so that the first speaks for all.
  const reservation = text.reserve({ ...ticket, signal: AbortSignal.any([ticket.signal, stop.signal]) }, first);
  const channels = requests.map(() => new Channel<GenerationEvent>(() => stop.abort()));
  void (async () => {
    for (const [index, request] of requests.entries()) {
      const channel = channels[index];
      try {
        for await (const event of reservation.generate(request)) channel?.push(event);
      } catch (error) {
        channel?.push({ type: 'error', error: asAppError(error) });
      }
      channel?.end();
    }
    reservation.release();
  })();
  return channels;
}
