import type { GenerationEvent } from '../core/events.ts';
import type { PromptProgress } from '../core/request.ts';

type Start = GenerationEvent & { readonly type: 'start' };
type Finish = GenerationEvent & { readonly type: 'finish' };

/** The events of a generation that was interrupted in its prompt and begun again, as those of one that was not. */
export class InterruptedEvents {
  #start: Start | undefined;
  /** Tokens of the prompt that earlier parts have computed and left in the cache. */
  #before = 0;
  readonly #warnings = new Set<string>();
  #wasInterrupted = false;
  #spent = { initMs: 0, promptMs: 0, processedTokens: 0 };

  /** Undefined for an event that was sent before. */
  merged(event: GenerationEvent): GenerationEvent | undefined {
    if (event.type === 'start') {
      const isFirst = this.#start === undefined;
      this.#start ??= event;
      this.#before = Math.max(0, event.cachedTokens - this.#start.cachedTokens);
      return isFirst ? event : undefined;
    }
    if (event.type === 'warning') {
      if (this.#warnings.has(event.text)) return undefined;
      this.#warnings.add(event.text);
    }
    return event.type === 'finish' && this.#start && this.#wasInterrupted ? this.#whole(event, this.#start) : event;
  }

  progress({ done, total }: PromptProgress): PromptProgress {
    return { done: done + this.#before, total: total + this.#before };
  }

  interrupted({ timings }: Finish): void {
    this.#wasInterrupted = true;
    this.#spent = {
      initMs: this.#spent.initMs + timings.initMs,
      promptMs: this.#spent.promptMs + timings.promptMs,
      processedTokens: this.#spent.processedTokens + timings.processedTokens,
    };
  }

  #whole(finish: Finish, { cachedTokens }: Start): Finish {
    const { usage, timings } = finish;
    const { initMs, promptMs, processedTokens } = this.#spent;
    return {
      ...finish,
      usage: { ...usage, cachedTokens: Math.min(cachedTokens, usage.promptTokens) },
      timings: {
        ...timings,
        initMs: timings.initMs + initMs,
        promptMs: timings.promptMs + promptMs,
        processedTokens: timings.processedTokens + processedTokens,
      },
    };
  }
}
