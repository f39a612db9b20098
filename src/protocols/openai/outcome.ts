import type { GenerationEvent } from '../../core/events.ts';
import { fold, type Generation } from '../../core/fold.ts';
import { spokenTokens } from '../spoken-tokens.ts';

/** All replies are whole, or the first failure is that of all: then those that nobody will read are stopped. */
export async function collectAll(replies: readonly AsyncIterable<GenerationEvent>[]): Promise<readonly Generation[]> {
  try {
    return await Promise.all(replies.map((events) => fold(shown(events))));
  } catch (error) {
    await Promise.all(replies.map((events) => events[Symbol.asyncIterator]().return?.()));
    throw error;
  }
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
