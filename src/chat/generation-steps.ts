import type { GenerationEvent, Timings } from '../core/events.ts';
import type { Generation } from '../core/fold.ts';

// Replies that take several generations.

export type Attempt = () => Promise<AsyncIterable<GenerationEvent>>;

/** The events of the first attempt whose prompt fits into the context, otherwise those of the last one. */
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

/** The cost of a generation whose text is not shown. */
export type Step = Pick<Generation, 'usage' | 'timings'>;

/**
 * The finish event of a reply with the cost of earlier generations. Their completion tokens are added as reasoning tokens.
 * The prompt tokens are those of the last prompt, from which clients compute how full the context is; the time of the
 * earlier prompts counts as `initMs`.
 */
export function withEarlier(event: GenerationEvent, earlier: readonly Step[]): GenerationEvent {
  if (event.type !== 'finish' || earlier.length === 0) return event;
  const { usage, timings } = event;
  const sum = (figure: (step: Step) => number): number => earlier.reduce((all, step) => all + figure(step), 0);
  const time = (figure: (timings: Timings) => number): number =>
    sum((step) => (step.timings ? figure(step.timings) : 0));
  const written = sum((step) => step.usage.completionTokens);
  const draft = timings.draft && {
    accepted: timings.draft.accepted + time((step) => step.draft?.accepted ?? 0),
    rejected: timings.draft.rejected + time((step) => step.draft?.rejected ?? 0),
  };
  return {
    ...event,
    usage: {
      ...usage,
      completionTokens: usage.completionTokens + written,
      reasoningTokens: (usage.reasoningTokens ?? 0) + written,
    },
    timings: {
      ...timings,
      initMs: timings.initMs + time(({ initMs, promptMs }) => initMs + promptMs),
      generationMs: timings.generationMs + time(({ generationMs }) => generationMs),
      ...(draft ? { draft } : {}),
    },
  };
}
