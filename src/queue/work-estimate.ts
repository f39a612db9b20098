import type { GenerationEvent } from '../core/events.ts';
import { MeasuredRate } from '../core/measured-rate.ts';

type Finish = Pick<GenerationEvent & { type: 'finish' }, 'usage' | 'timings'>;

/** The weight of earlier replies in the mean length, relative to the last one. */
const decay = 0.8;

/** How long generations take on one engine, by what the last ones took. */
export class WorkEstimate {
  readonly #prompts = new MeasuredRate();
  readonly #replies = new MeasuredRate();
  #replyTokens: number | undefined;

  finished({ usage, timings }: Finish): void {
    const { completionTokens } = usage;
    this.#prompts.add(timings.processedTokens, timings.promptMs);
    this.#replies.add(completionTokens, timings.generationMs);
    this.#replyTokens = decay * (this.#replyTokens ?? completionTokens) + (1 - decay) * completionTokens;
  }

  /** For a prompt with so many uncached tokens and a reply of the mean length. Undefined before the first generation. */
  seconds(promptTokens: number, maxTokens: number): number | undefined {
    const { msPerUnit } = this.#prompts;
    if (msPerUnit === undefined) return undefined;
    const replyTokens = Math.min(maxTokens, this.#replyTokens ?? 0);
    return (promptTokens * msPerUnit + replyTokens * (this.#replies.msPerUnit ?? 0)) / 1000;
  }

  /** How many tokens of a prompt are computed in this time. */
  promptTokens(seconds: number): number {
    const { msPerUnit } = this.#prompts;
    return msPerUnit === undefined ? 0 : (1000 * seconds) / msPerUnit;
  }
}
