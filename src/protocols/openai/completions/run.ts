import { Channel } from '../../../core/channel.ts';
import { asAppError } from '../../../core/errors.ts';
import type { GenerationEvent } from '../../../core/events.ts';
import type { GenerationRequest, Ticket } from '../../../core/request.ts';
import type { TextService } from '../../../core/text-service.ts';
import { withSeedOf } from '../controls.ts';
import { refuseWithoutModel } from '../loaded.ts';

/**
 * All replies to all prompts, one after the other in one place of the queue; whoever stops reading one of them stops
 * them all. The work goes on by itself, so that the place is given back even when nobody ever reads.
 */
export function runAll(
  text: TextService,
  requests: readonly GenerationRequest[],
  candidates: number,
  ticket: Ticket,
): AsyncIterable<GenerationEvent>[] {
  const stop = new AbortController();
  const signal = AbortSignal.any([ticket.signal, stop.signal]);
  // The requests differ in nothing but their prompts and seeds, so that any of them speaks for all.
  const reservation = text.reserve({ ...ticket, signal }, requests[0] as GenerationRequest);
  const wanted = requests.flatMap((request) =>
    Array.from({ length: candidates }, (_, reply) => withSeedOf(request, reply)),
  );
  const runs = wanted.map((request) => ({ request, channel: new Channel<GenerationEvent>(() => stop.abort()) }));
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

/** The prompt as the whole reply: its tokens are counted, and nothing is generated. */
export async function* countOnly(
  text: TextService,
  { memory, prompt, sampling }: GenerationRequest,
): AsyncGenerator<GenerationEvent> {
  const promptTokens = (await text.tokenize(memory + prompt, { addSpecial: true })).length;
  refuseWithoutModel(text);
  yield { type: 'start', promptTokens, cachedTokens: 0, maxTokens: 0, seed: sampling.seed };
  yield {
    type: 'finish',
    reason: 'length',
    cause: 'limit',
    usage: { promptTokens, cachedTokens: 0, completionTokens: 0 },
    timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
  };
}
