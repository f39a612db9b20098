import type { GenerationEvent, Timings } from '../core/events.ts';
import type { Generation } from '../core/fold.ts';

/** What a generation cost that came before the answer and that nobody sees. */
export type Step = Pick<Generation, 'usage' | 'timings'>;

/**
 * The end of an answer that took more generations than one tells the cost of all. What was written adds up, the unseen
 * part of it as thinking. The prompt stays the last one: it holds those before it but for their question, and clients
 * reckon from it how full the context is. The time to read the others counts as time before the work.
 */
export function withEarlier(event: GenerationEvent, earlier: readonly Step[]): GenerationEvent {
  if (event.type !== 'finish' || earlier.length === 0) return event;
  const { usage, timings } = event;
  const sum = (figure: (step: Step) => number): number => earlier.reduce((all, step) => all + figure(step), 0);
  const time = (figure: (timings: Timings) => number): number =>
    sum((step) => (step.timings ? figure(step.timings) : 0));
  const written = sum((step) => step.usage.completionTokens);
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
      ...(timings.draft
        ? {
            draft: {
              accepted: timings.draft.accepted + time(({ draft }) => draft?.accepted ?? 0),
              rejected: timings.draft.rejected + time(({ draft }) => draft?.rejected ?? 0),
            },
          }
        : {}),
    },
  };
}
