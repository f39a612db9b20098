import type { CacheMiss, PromptOrigin } from '../../../../core/events.ts';
import { slots as policy } from '../scheduling.ts';
import { type CachedSequence, type IsControl, relationOf } from './slot-choice.ts';
import { commonPrefix, longestContinuation } from './snapshot.ts';

/** Tokens before and after a difference that are reported: about a line of text. */
const excerptTokens = 12;
const maxMisses = 20;
/** At most 4 MiB of tokens. */
const limits = { sequences: 32, tokens: 2 ** 20 };

interface Sequence extends CachedSequence {
  readonly number: number;
}

interface PromptHistoryOptions {
  readonly detokenize: (tokens: Int32Array) => string;
  readonly isControl: IsControl;
  readonly now: () => number;
  readonly limits?: typeof limits;
}

/**
 * The tokens of the last prompts and replies, cached or not. Determines which conversation a prompt continues, and where it differs from
 * what was computed before: usually in a line near the top that changes with each turn.
 */
export class PromptHistory {
  /** Oldest first. */
  #sequences: Sequence[] = [];
  readonly #misses: CacheMiss[] = [];
  #lastNumber: number;

  constructor(private readonly options: PromptHistoryOptions) {
    // Unlike those of earlier processes: the server identifies conversations by these numbers.
    this.#lastNumber = options.now();
  }

  get misses(): readonly CacheMiss[] {
    return [...this.#misses];
  }

  /** Adds a prompt of which `reusedTokens` are cached. Neither a continuation nor another chat is a miss. */
  record(prompt: Int32Array, reusedTokens: number): { readonly origin: PromptOrigin; readonly miss?: CacheMiss } {
    const best = this.#closest(prompt);
    const relation = best && relationTo(best.sequence, prompt, best.common, this.options.isControl);
    if (!best || !relation) return { origin: { sequence: this.#keepPrompt(++this.#lastNumber, prompt) } };
    const { number, promptLength, cached } = best.sequence;
    const { common } = best;
    const miss = this.#miss(cached, prompt, common, relation, reusedTokens);
    const sequence = this.#keepPrompt(relation === 'continues' ? number : ++this.#lastNumber, prompt);
    const isOther = relation === 'edits' && !repeatsEnd(best.sequence, prompt, common);
    const counts = { common, promptTokens: promptLength, tokens: cached.length };
    const previous = { sequence: number, ...counts, relation: isOther ? ('other' as const) : relation };
    return { origin: { sequence, previous }, ...(miss && { miss }) };
  }

  /** Adds its reply. `tokens` are copied. */
  ended({ sequence }: PromptOrigin, tokens: Int32Array): void {
    const known = this.#sequences.find(({ number }) => number === sequence);
    if (known && tokens.length >= known.promptLength) this.#keep({ ...known, cached: tokens.slice() });
  }

  #closest(prompt: Int32Array): { readonly sequence: Sequence; readonly common: number } | undefined {
    let best: { readonly sequence: Sequence; readonly common: number } | undefined;
    // Newest first, since it is the most likely one. Others are compared only if they have the token at which the best one differs.
    for (const sequence of this.#sequences.toReversed()) {
      const reached = best?.common ?? 0;
      if (sequence.cached[reached] !== prompt[reached]) continue;
      const common = commonPrefix(sequence.cached, prompt);
      if (common > reached) best = { sequence, common };
    }
    return best;
  }

  #keepPrompt(number: number, prompt: Int32Array): number {
    this.#keep({ number, cached: prompt, promptLength: prompt.length });
    return number;
  }

  #keep(sequence: Sequence): void {
    const { sequences, tokens } = this.options.limits ?? limits;
    this.#sequences = [...this.#sequences.filter(({ number }) => number !== sequence.number), sequence];
    const total = () => this.#sequences.reduce((sum, { cached }) => sum + cached.length, 0);
    while (this.#sequences.length > sequences || (this.#sequences.length > 1 && total() > tokens))
      this.#sequences.shift();
  }

  #miss(cached: Int32Array, prompt: Int32Array, common: number, relation: Relation, reusedTokens: number) {
    if (relation === 'quotes' || relation === 'other') return undefined;
    if (common >= cached.length - 1 || common >= prompt.length - 1) return undefined;
    const miss: CacheMiss = {
      time: this.options.now(),
      partedAt: common,
      promptTokens: prompt.length,
      reusedTokens,
      before: this.#excerpt(prompt, common - excerptTokens, common),
      kept: this.#excerpt(cached, common, common + excerptTokens),
      wanted: this.#excerpt(prompt, common, common + excerptTokens),
    };
    this.#misses.push(miss);
    if (this.#misses.length > maxMisses) this.#misses.shift();
    return miss;
  }

  #excerpt(tokens: Int32Array, from: number, to: number): string {
    const part = tokens.subarray(Math.max(0, from), Math.max(0, to)).filter((token) => token >= 0);
    return this.options.detokenize(part);
  }
}

type Relation = NonNullable<PromptOrigin['previous']>['relation'];

/** What a template puts before the reply and leaves out of later prompts is at most this long. */
const maxOpening = 8;

/**
 * A turn repeats all of the last prompt but what the template put before the reply, such as a mark of thinking. A prompt that shares the
 * beginning and differs in the last message is a retry, or another conversation with the same system prompt.
 */
function relationTo(sequence: CachedSequence, prompt: Int32Array, common: number, isControl: IsControl): Relation {
  const { cached, promptLength } = sequence;
  const opening = cached.subarray(common, promptLength);
  const isOpening = opening.length <= Math.min(maxOpening, common) && !opening.subarray(1).some(isControl);
  if (isOpening) return 'continues';
  const relation = relationOf(sequence, prompt, common, isControl);
  return relation === 'continues' ? 'branches' : relation;
}

/** Whether the last message is still there: another conversation repeats the system prompt at most. */
function repeatsEnd({ cached, promptLength }: CachedSequence, prompt: Int32Array, common: number): boolean {
  const end = cached.subarray(
    Math.max(common, promptLength - maxOpening - policy.minPassage),
    promptLength - maxOpening,
  );
  return longestContinuation(prompt.subarray(common), end).length === end.length;
}
