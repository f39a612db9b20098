import type { GenerationEvent } from '../core/events.ts';

type Finish = Pick<GenerationEvent & { type: 'finish' }, 'usage' | 'timings'>;

/** The weight of earlier texts, relative to the last one. */
const remembered = 0.8;

interface Measured {
  readonly ms: number;
  readonly tokens: number;
}

/** How long texts take on one engine, by what the last ones took. */
export class WorkEstimate {
  #prompts: Measured | undefined;
  #replies: Measured | undefined;
  #replyTokens: number | undefined;

  finished({ usage, timings }: Finish): void {
    const { completionTokens } = usage;
    this.#prompts = added(this.#prompts, timings.promptMs, timings.processedTokens);
    this.#replies = added(this.#replies, timings.generationMs, completionTokens);
    this.#replyTokens = remembered * (this.#replyTokens ?? completionTokens) + (1 - remembered) * completionTokens;
  }

  /** For so many tokens of a prompt that are not in the cache, and a reply of the mean length. Undefined before the first text. */
  seconds(promptTokens: number, maxTokens: number): number | undefined {
    if (!this.#prompts) return undefined;
    const replyTokens = Math.min(maxTokens, this.#replyTokens ?? 0);
    return (promptTokens * perToken(this.#prompts) + replyTokens * perToken(this.#replies)) / 1000;
  }

  /** How many tokens of a prompt are computed in this time. */
  promptTokens(seconds: number): number {
    return this.#prompts ? (1000 * seconds) / perToken(this.#prompts) : 0;
  }
}

function added(before: Measured | undefined, ms: number, tokens: number): Measured | undefined {
  if (tokens === 0) return before;
  const { ms: msBefore, tokens: tokensBefore } = before ?? { ms: 0, tokens: 0 };
  return { ms: remembered * msBefore + ms, tokens: remembered * tokensBefore + tokens };
}

const perToken = (measured: Measured | undefined): number => (measured ? measured.ms / measured.tokens : 0);
