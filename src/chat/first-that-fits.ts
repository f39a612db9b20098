import type { GenerationEvent } from '../core/events.ts';

export type Attempt = () => Promise<AsyncIterable<GenerationEvent>>;

/**
 * The generation of the first prompt that the context has room for, or what is said of the last one: for prompts that can
 * be told at length or in short.
 */
export async function* firstThatFits(attempts: readonly Attempt[]): AsyncGenerator<GenerationEvent> {
  for (const [index, attempt] of attempts.entries()) {
    const isLast = index === attempts.length - 1;
    let tooLong = false;
    for await (const event of await attempt()) {
      tooLong = !isLast && event.type === 'error' && event.error.code === 'context-overflow';
      if (!tooLong) yield event;
    }
    if (!tooLong) return;
  }
}
