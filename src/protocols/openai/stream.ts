import { type AppError, asAppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import { dataFrame } from '../../http/sse.ts';
import { mergedReplies } from '../generate-all.ts';
import { errorBody, locate } from './errors.ts';
import { type Ending, encodeTimings, encodeUsage, unfinished } from './usage.ts';

/** Writes the chunks of one reply: the frames that an event becomes, or nothing. */
export type ChoiceWriter = (event: Exclude<GenerationEvent, { type: 'error' }>) => string;

export interface StreamShape {
  /** The beginning of every chunk. */
  readonly head: string;
  readonly includeUsage: boolean;
  readonly repliesPerPrompt: number;
  /** The field that a prompt which is too long came from. */
  readonly promptField: string;
  readonly choice: (index: number) => ChoiceWriter;
}

const done = dataFrame('[DONE]');

/** The replies as they come, then the figures where they were asked for, and the mark that ends every stream. */
export async function* encodeStream(
  replies: readonly AsyncIterable<GenerationEvent>[],
  shape: StreamShape,
): AsyncGenerator<string> {
  const failure = (error: AppError): string =>
    dataFrame(JSON.stringify(errorBody(locate(error, shape.promptField)))) + done;
  const writers = replies.map((_, index) => shape.choice(index));
  const endings: Ending[] = replies.map(() => unfinished);
  try {
    for await (const [index, event] of mergedReplies(replies)) {
      if (event.type === 'error') {
        yield failure(event.error);
        return;
      }
      if (event.type === 'finish') endings[index] = event;
      const frames = writers[index]?.(event) ?? '';
      if (frames !== '') yield frames;
    }
  } catch (error) {
    yield failure(asAppError(error));
    return;
  }
  for (const [index, write] of writers.entries()) if (endings[index] === unfinished) yield write(abandoned);
  if (shape.includeUsage) yield usageFrame(endings, shape);
  yield done;
}

/** A stream that just ends was left by whoever fed it; clients still need an end that they understand. */
const abandoned: GenerationEvent & { type: 'finish' } = {
  type: 'finish',
  reason: 'aborted',
  cause: 'aborted',
  usage: unfinished.usage,
  timings: { initMs: 0, promptMs: 0, generationMs: 0, processedTokens: 0 },
};

function usageFrame(endings: readonly Ending[], { head, repliesPerPrompt }: StreamShape): string {
  const usage = JSON.stringify(encodeUsage(endings, repliesPerPrompt));
  const timings = JSON.stringify(encodeTimings(endings, repliesPerPrompt));
  return dataFrame(`${head}"choices":[],"usage":${usage},"timings":${timings}}`);
}
