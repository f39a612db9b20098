import type { Sampling } from '../core/sampling-fields.ts';
import { Candidates, candidatesFor, keepHighest, trimToHighest } from './candidates.ts';
import { Chain, candidateLimit } from './chain.ts';
import { Dry, type DryBreakers } from './dry.ts';
import { Random } from './random.ts';
import { Repetition } from './repetition.ts';
import { rowScanFor } from './row-scan.ts';

export interface GrammarFilter {
  /** Keeps the allowed candidates, in the same order; possibly none. Each is judged independently of the others. */
  keepAllowed(candidates: Candidates): void;
  /** The grammar decides where the text ends: end tokens are not banned. */
  readonly endsText?: boolean;
}

export interface SamplerOptions {
  readonly vocabularySize: number;
  readonly contextSize: number;
  readonly seed: number;
  readonly logitBias: readonly (readonly [token: number, bias: number])[];
  readonly bannedTokens: ArrayLike<number>;
  /** End-of-generation tokens to ban. */
  readonly endTokens?: readonly number[];
  readonly dryBreakers?: DryBreakers;
  readonly grammar?: GrammarFilter;
  /** Computes the distribution even if a shortcut gives the same token. */
  readonly keepDistribution?: boolean;
}

/** No token may follow: the grammar has reached a dead end. */
export const noToken = -1;

/** How far below the lowest logit a forbidden token is put: e^-8 of the least likely token is never sampled in practice. */
const forbiddenDepth = 8;
/** The minimum number of candidates that a grammar checks first: it often rejects all of fewer. */
const minChecked = 64;

/** Chooses the tokens of one request; holds the state of its samplers between tokens. */
export class Sampler {
  /** After `pick`: the remaining candidates, best first, with probabilities. Shared with other samplers, unless `keepDistribution`. */
  readonly candidates: Candidates;
  readonly #repetition: Repetition;
  readonly #dry: Dry;
  readonly #chain: Chain;
  readonly #greedy: boolean;

  constructor(
    settings: Sampling,
    private readonly options: SamplerOptions,
  ) {
    const { vocabularySize, contextSize } = options;
    this.candidates = options.keepDistribution ? new Candidates(vocabularySize) : candidatesFor(vocabularySize);
    this.#repetition = new Repetition(settings, contextSize, vocabularySize);
    this.#dry = new Dry(settings, contextSize, vocabularySize, options.dryBreakers);
    // A grammar sees the best logits as the model gave them, so no penalty may come before it.
    const free = options.grammar === undefined;
    this.#chain = new Chain(settings, this.#repetition, new Random(options.seed), vocabularySize, free);
    this.#greedy = this.#chain.greedy && free && !options.keepDistribution;
  }

  /** Chooses the next token after the first `length` tokens of `history`, or `noToken`. Changes `logits` in place. */
  pick(logits: Float32Array, history: Int32Array, length: number, forbidden: readonly number[] = []): number {
    if (logits.length !== this.options.vocabularySize) {
      throw new RangeError(`${logits.length} logits for a vocabulary of ${this.options.vocabularySize}`);
    }
    this.#forbid(logits, forbidden);
    for (const [token, bias] of this.options.logitBias) {
      if (token >= 0 && token < logits.length) logits[token] = (logits[token] as number) + bias;
    }
    this.#dry.penalise(logits, history, length);
    if (this.#greedy) return this.#pickBest(logits, history, length);

    if (this.#chain.penaltyFirst) this.#repetition.penaliseLogits(logits, history, length);
    this.#load(logits);
    if (this.candidates.size === 0) return noToken;
    return this.candidates.ids[this.#chain.pick(this.candidates, history, length)] as number;
  }

  #forbid(logits: Float32Array, forbidden: readonly number[]): void {
    const { bannedTokens, logitBias, grammar } = this.options;
    const endTokens = grammar?.endsText ? [] : (this.options.endTokens ?? []);
    const count = endTokens.length + bannedTokens.length + forbidden.length;
    if (count === 0) return;
    // If enough others are left, no sampler sees a forbidden token. Finding the lowest logit would read the whole row.
    const unseen = logits.length - count >= candidateLimit && logitBias.length === 0 && !grammar;
    const low = unseen ? -Infinity : forbiddenLogit(logits);
    for (const tokens of [endTokens, bannedTokens, forbidden]) {
      // Writes past the end of the vocabulary have no effect on a typed array.
      for (let index = 0; index < tokens.length; index += 1) logits[tokens[index] as number] = low;
    }
  }

  #load(logits: Float32Array): void {
    const { candidates } = this;
    const { grammar } = this.options;
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

  /** Checks only the best candidates, since a full check takes most of a pick's time; true if enough of them are allowed. */
  #keepEnoughAllowed(logits: Float32Array, grammar: GrammarFilter): boolean {
    const { candidateCount } = this.#chain;
    const checked = Math.max(minChecked, 2 * candidateCount);
    if (checked >= candidateLimit) return false;
    keepHighest(logits, checked, this.candidates);
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

/** Well below every logit, so that a forbidden token is sampled only if nothing else is left. */
function forbiddenLogit(logits: Float32Array): number {
  let lowest = 0;
  for (let id = 0; id < logits.length; id += 1) {
    const logit = logits[id] as number;
    if (logit < lowest) lowest = logit;
  }
  return lowest < 0 ? lowest - forbiddenDepth : 0;
}

/** The first of equal ones; NaN is ignored. */
export function indexOfHighest(logits: Float32Array): number {
  const scan = rowScanFor(logits.length);
  scan.load(logits);
  const highest = scan.highest();
  return highest > -Infinity ? (scan.reaching(highest).ids[0] as number) : 0;
}

/** Moves `main` away from `negative`, in place; a scale of 1 changes nothing. */
export function mixGuidance(main: Float32Array, negative: Float32Array, scale: number): void {
  for (let id = 0; id < main.length; id += 1) {
    const away = negative[id] as number;
    const mixed = scale * ((main[id] as number) - away) + away;
    // If infinities cancel out, the main logit is used instead of the mixture.
    if (!Number.isNaN(mixed)) main[id] = mixed;
  }
}
