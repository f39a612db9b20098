import { Channel } from '../core/channel.ts';
import { asAppError } from '../core/errors.ts';
import type { GenerationEvent } from '../core/events.ts';

/** The events of several replies as they come, each with the number of its reply. Whoever stops reading stops them all. */
export function mergedReplies(
  replies: readonly AsyncIterable<GenerationEvent>[],
): AsyncIterable<readonly [index: number, event: GenerationEvent]> {
  const iterators = replies.map((events) => events[Symbol.asyncIterator]());
  const [only, second] = iterators;
  if (only && !second) return numbered(only);
  const merged = new Channel<readonly [number, GenerationEvent]>(() => {
    for (const iterator of iterators) void iterator.return?.();
  });
  let open = iterators.length;
  if (open === 0) merged.end();
  for (const [index, iterator] of iterators.entries()) {
    void readAll(iterator, (event) => merged.push([index, event])).then(() => {
      open -= 1;
      if (open === 0) merged.end();
    });
  }
  return merged;
}

/** One alone is read as fast as it is taken, and no faster. */
function numbered(events: AsyncIterator<GenerationEvent>): AsyncIterable<readonly [number, GenerationEvent]> {
  const next = async (): Promise<IteratorResult<readonly [number, GenerationEvent]>> => {
    const { done, value } = await events.next();
    return done ? { done, value: undefined } : { done: false, value: [0, value] };
  };
  const close = async (): Promise<IteratorResult<readonly [number, GenerationEvent]>> => {
    await events.return?.();
    return { done: true, value: undefined };
  };
  return { [Symbol.asyncIterator]: () => ({ next, return: close }) };
}

async function readAll(
  iterator: AsyncIterator<GenerationEvent>,
  take: (event: GenerationEvent) => void,
): Promise<void> {
  try {
    for (let step = await iterator.next(); !step.done; step = await iterator.next()) take(step.value);
  } catch (error) {
    take({ type: 'error', error: asAppError(error) });
  }
}
