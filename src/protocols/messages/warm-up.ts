import type { GenerationEvent } from '../../core/events.ts';

/**
 * A reply of no tokens: the prompt has been read into the cache, and the one token that the engine chose on the way is
 * nobody's business.
 */
export async function* withoutReply(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent> {
  for await (const event of events) {
    if (event.type === 'start' || event.type === 'warning' || event.type === 'error') yield event;
    else if (event.type === 'finish') yield emptied(event);
  }
}

function emptied(finish: Extract<GenerationEvent, { type: 'finish' }>): GenerationEvent {
  const { promptTokens, cachedTokens } = finish.usage;
  const usage = { promptTokens, cachedTokens, completionTokens: 0 };
  return { type: 'finish', reason: 'length', cause: 'limit', usage, timings: finish.timings };
}
