import type { GenerationEvent } from '../core/events.ts';
import type { Performance } from '../core/text-service.ts';

/** The figures of the last generation, collected from its events. */
export class PerformanceLog {
  readonly #startedAt: number;
  #usedAt: number;
  #last = {
    processMsPerToken: 0,
    evalMsPerToken: 0,
    promptTokens: 0,
    processedTokens: 0,
    reusedTokens: 0,
    completionTokens: 0,
    seed: -1,
    draftAccepted: 0,
    draftRejected: 0,
    generations: 0,
    stop: 'none' as Performance['stop'],
  };

  constructor(private readonly now: () => number) {
    this.#startedAt = now();
    this.#usedAt = this.#startedAt;
  }

  begin(): void {
    this.#usedAt = this.now();
  }

  event(event: GenerationEvent): void {
    if (event.type === 'start') this.#last = { ...this.#last, seed: event.seed };
    if (event.type === 'error') this.#last = { ...this.#last, stop: 'error' };
    if (event.type !== 'finish') return;
    const { usage, timings, cause } = event;
    this.#usedAt = this.now();
    this.#last = {
      ...this.#last,
      processMsPerToken: perToken(timings.promptMs, timings.processedTokens),
      evalMsPerToken: perToken(timings.generationMs, usage.completionTokens),
      promptTokens: usage.promptTokens,
      processedTokens: timings.processedTokens,
      reusedTokens: usage.cachedTokens,
      completionTokens: usage.completionTokens,
      draftAccepted: timings.draft?.accepted ?? 0,
      draftRejected: timings.draft?.rejected ?? 0,
      generations: this.#last.generations + 1,
      stop: cause === 'aborted' ? 'limit' : cause,
    };
  }

  report({
    running,
    waiting,
  }: {
    readonly running: number;
    readonly waiting: number;
  }): Omit<Performance, 'estimateSeconds'> {
    const now = this.now();
    return {
      ...this.#last,
      waiting,
      idle: running === 0,
      uptimeSeconds: (now - this.#startedAt) / 1000,
      idleSeconds: (now - this.#usedAt) / 1000,
    };
  }
}

function perToken(ms: number, tokens: number): number {
  return tokens > 0 ? ms / tokens : 0;
}
