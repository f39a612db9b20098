import type { GenerationEvent } from '../../core/events.ts';
import { fold, type Generation } from '../../core/fold.ts';

/** The replies come one after the other; when one fails, those that nobody will read are stopped. */
export async function collectAll(replies: readonly AsyncIterable<GenerationEvent>[]): Promise<readonly Generation[]> {
  const generations: Generation[] = [];
  try {
    for (const events of replies) generations.push(await fold(shown(events)));
  } catch (error) {
    await replies.at(-1)?.[Symbol.asyncIterator]().return?.();
    throw error;
  }
  return generations;
}

/**
 * A piece without text can only carry the figures of tokens that are not part of the reply (the one that ended it, marks
 * around thinking and calls), and the tokens of this dialect's logprobs must add up to the text.
 */
async function* shown(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent> {
  for await (const event of events) {
    const silent = (event.type === 'text-delta' || event.type === 'reasoning-delta') && event.text === '';
    if (!silent) yield event;
  }
}
