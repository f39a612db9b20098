/** Templates come from model files of unknown origin: their time, steps, and the size of texts and lists are bounded. */
export interface TemplateLimits {
  readonly steps: number;
  readonly milliseconds: number;
  readonly characters: number;
  readonly items: number;
}

/** For rendering on the main thread. */
export const inlineLimits: TemplateLimits = {
  steps: 2_000_000,
  milliseconds: 250,
  characters: 16_000_000,
  items: 10_000,
};

/** For rendering in a worker thread: a million messages, more than the largest accepted body holds. */
export const threadLimits: TemplateLimits = {
  steps: 1_000_000_000,
  milliseconds: 30_000,
  characters: 256_000_000,
  items: 4_000_000,
};

/** The limit of steps or time was reached. */
export class EndlessTemplateError extends Error {
  constructor() {
    super('the template does not come to an end');
  }
}
