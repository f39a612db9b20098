import type { GenerationEvent, Timings } from '../../core/events.ts';
import { fold, type Generation } from '../../core/fold.ts';

/** A whole reply with what the fold of its events leaves out. */
export interface Outcome {
  readonly generation: Generation;
  readonly timings: Timings | undefined;
  readonly droppedTokens: number;
}

/** The replies come one after the other; when one fails, those that nobody will read are stopped. */
export async function collectAll(replies: readonly AsyncIterable<GenerationEvent>[]): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  try {
    for (const events of replies) outcomes.push(await collect(events));
  } catch (error) {
    await replies.at(-1)?.[Symbol.asyncIterator]().return?.();
    throw error;
  }
  return outcomes;
}

async function collect(events: AsyncIterable<GenerationEvent>): Promise<Outcome> {
  let timings: Timings | undefined;
  let droppedTokens = 0;
  async function* noted(): AsyncGenerator<GenerationEvent> {
    for await (const event of events) {
      if (event.type === 'start') droppedTokens = event.droppedTokens ?? 0;
      if (event.type === 'finish') timings = event.timings;
      if (isShown(event)) yield event;
    }
  }
  const generation = await fold(noted());
  return { generation, timings, droppedTokens };
}

/**
 * A piece without text can only carry the figures of tokens that are not part of the reply (the one that ended it, marks
 * around thinking and calls), and the tokens of this dialect's logprobs must add up to the text.
 */
export function isShown(event: GenerationEvent): boolean {
  return !((event.type === 'text-delta' || event.type === 'reasoning-delta') && event.text === '');
}
