import type { GenerationEvent } from '../../core/events.ts';
import { fold, type Generation } from '../../core/fold.ts';
import { spokenTokens } from '../spoken-tokens.ts';

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

/** Pieces without text only carry figures, which go where their text is. */
async function* shown(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent> {
  const spoken = spokenTokens();
  for await (const event of events) {
    if (event.type !== 'text-delta' && event.type !== 'reasoning-delta') {
      yield event;
      continue;
    }
    const logprobs = spoken(event);
    if (event.text !== '') yield logprobs ? { ...event, logprobs } : event;
  }
}
