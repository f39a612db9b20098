import type { Sampling } from '../core/sampling-fields.ts';
import { Candidates, keepHighest, trimToHighest } from './candidates.ts';
import { Chain, candidateLimit } from './chain.ts';
import { Dry, type DryBreakers } from './dry.ts';
import { Random } from './random.ts';
import { Repetition } from './repetition.ts';

export interface GrammarFilter {
  /**
   * Leaves only what the grammar allows, in the order it came (see `Candidates.retain`); may leave nothing. What it says
   * about one candidate does not depend on the others.
   */
  keepAllowed(candidates: Candidates): void;
}

export interface SamplerOptions {
  readonly vocabularySize: number;
  readonly contextSize: number;
  /** The effective seed: where the client asked for none, the caller has drawn one. */
  readonly seed: number;
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  readonly bannedTokens: ArrayLike<number>;
  /** The end-of-generation tokens, where they are banned. */
  readonly endTokens?: readonly number[];
  readonly dryBreakers?: DryBreakers;
  readonly grammar?: GrammarFilter;
  /** Goes the whole way even where a shorter one gives the same token. */
  readonly keepDistribution?: boolean;
}

/** Says that no token may follow: the grammar has run into a dead end. */
export const noToken = -1;

const forbiddenDepth = 8;
/** A grammar is never asked about fewer candidates than this: it could well refuse them all. */
const leastAsked = 64;

/** Chooses the tokens of one request; remembers what its samplers need from one token to the next. */
export class Sampler {
  /** After `pick`: what was left to choose from, best first, with probabilities. */
  readonly candidates: Candidates;
  readonly #options: SamplerOptions;
  readonly #repetition: Repetition;
  readonly #dry: Dry;
  readonly #chain: Chain;
  readonly #greedy: boolean;

  constructor(settings: Sampling, options: SamplerOptions) {
    const { vocabularySize, contextSize } = options;
    this.#options = options;
    this.candidates = new Candidates(vocabularySize);
    this.#repetition = new Repetition(
      {
        penalty: settings.repetitionPenalty,
        slope: settings.repetitionSlope,
        range: settings.repetitionRange,
        presence: settings.presencePenalty,
        frequency: settings.frequencyPenalty,
      },
      contextSize,
      vocabularySize,
    );
    this.#dry = new Dry(
      {
        multiplier: settings.dryMultiplier,
        base: settings.dryBase,
        allowedLength: settings.dryAllowedLength,
        range: settings.dryRange,
      },
      contextSize,
      vocabularySize,
      options.dryBreakers,
    );
    // A grammar sees the best logits as the model gave them, so nothing may be taken off before it.
    const order = { penaltyFirst: options.grammar === undefined };
    this.#chain = new Chain(settings, this.#repetition, new Random(options.seed), vocabularySize, order);
    this.#greedy = this.#chain.greedy && options.grammar === undefined && !options.keepDistribution;
  }

  /**
   * Chooses the next token after `history` (prompt and output so far; only the first `length` entries count), or
   * `noToken`. Changes `logits` in place. `forbidden` cannot be chosen at this position only.
   */
  pick(logits: Float32Array, history: Int32Array, length: number, forbidden: readonly number[] = []): number {
    if (logits.length !== this.#options.vocabularySize) {
      throw new RangeError(`${logits.length} logits for a vocabulary of ${this.#options.vocabularySize}`);
    }
    this.#forbid(logits, forbidden);
    for (const [token, bias] of this.#options.logitBias) {
      if (token >= 0 && token < logits.length) logits[token] = (logits[token] as number) + bias;
    }
    this.#dry.penalise(logits, history, length);
    if (this.#greedy) return this.#pickBest(logits, history, length);

    const { candidates } = this;
    if (this.#chain.penaltyFirst) this.#repetition.penaliseLogits(logits, history, length);
    this.#load(logits);
    if (candidates.size === 0) return noToken;
    return candidates.ids[this.#chain.pick(candidates, history, length)] as number;
  }

  #forbid(logits: Float32Array, forbidden: readonly number[]): void {
    const { endTokens = [], bannedTokens } = this.#options;
    if (endTokens.length + bannedTokens.length + forbidden.length === 0) return;
    const low = forbiddenLogit(logits);
    for (const tokens of [endTokens, bannedTokens, forbidden]) {
      // Writes past the end of the vocabulary have no effect on a typed array.
      for (let index = 0; index < tokens.length; index += 1) logits[tokens[index] as number] = low;
    }
  }

  #load(logits: Float32Array): void {
    const { candidates } = this;
    const { grammar } = this.#options;
    if (grammar === undefined) {
      keepHighest(logits, this.#chain.candidateCount, candidates);
      return;
    }
    if (this.#keepEnoughAllowed(logits, grammar)) return;
    keepHighest(logits, candidateLimit, candidates);
    grammar.keepAllowed(candidates);
    if (candidates.size > 0) return;
    candidates.loadAll(logits);
    grammar.keepAllowed(candidates);
    trimToHighest(candidates, candidateLimit);
  }

  /**
   * Asking about all candidates takes most of the time of a pick, and inside of a string nearly all are allowed. Where
   * enough of the best are, the others would not have been chosen.
   */
  #keepEnoughAllowed(logits: Float32Array, grammar: GrammarFilter): boolean {
    const { candidateCount } = this.#chain;
    const asked = Math.max(leastAsked, 2 * candidateCount);
    if (asked >= candidateLimit) return false;
    keepHighest(logits, asked, this.candidates);
    grammar.keepAllowed(this.candidates);
    return this.candidates.size >= candidateCount;
  }

  #pickBest(logits: Float32Array, history: Int32Array, length: number): number {
    this.#repetition.penaliseLogits(logits, history, length);
    const best = indexOfHighest(logits);
    this.candidates.loadOne(best, logits[best] as number);
    return best;
  }
}

/** Well under every logit, so that a forbidden token is chosen only where nothing else is left. */
export function forbiddenLogit(logits: Float32Array): number {
  let lowest = 0;
  for (let id = 0; id < logits.length; id += 1) {
    const logit = logits[id] as number;
    if (logit < lowest) lowest = logit;
  }
  return lowest < 0 ? lowest - forbiddenDepth : 0;
}

/** Of equals the first; what is not a number is passed over. */
export function indexOfHighest(logits: Float32Array): number {
  let best = 0;
  let highest = -Infinity;
  const look = (id: number): void => {
    const logit = logits[id] as number;
    if (logit <= highest || Number.isNaN(logit)) return;
    highest = logit;
    best = id;
  };
  // By fours, since all but a few are passed over: half the time of one by one.
  const fours = logits.length - (logits.length % 4);
  for (let id = 0; id < fours; id += 4) {
    if (
      (logits[id] as number) > highest ||
      (logits[id + 1] as number) > highest ||
      (logits[id + 2] as number) > highest ||
      (logits[id + 3] as number) > highest
    ) {
      for (let one = id; one < id + 4; one += 1) look(one);
    }
  }
  for (let id = fours; id < logits.length; id += 1) look(id);
  return best;
}

/** Moves `main` away from `negative`, in place; a scale of 1 changes nothing. */
export function mixGuidance(main: Float32Array, negative: Float32Array, scale: number): void {
  for (let id = 0; id < main.length; id += 1) {
    const away = negative[id] as number;
    const mixed = scale * ((main[id] as number) - away) + away;
    // Where infinities cancel out there is no mixture; the main logit stands.
    if (!Number.isNaN(mixed)) main[id] = mixed;
  }
}
