import { AppError } from '../../../core/errors.ts';
import type { CacheMiss, FinishCause, TokenLogprob } from '../../../core/events.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { logprobsOf } from '../../../sampling/logprobs.ts';
import type { ReasoningBudget } from '../../../sampling/reasoning-budget.ts';
import { mixGuidance, noToken, type Sampler } from '../../../sampling/sampler.ts';
import type { Piece } from '../messages.ts';
import type { Drafter } from './draft.ts';
import type { RequestGrammar } from './grammar.ts';
import type { DecodeResult } from './memory/context.ts';
import { type PromptScores, tokenChoice } from './memory/prompt-scores.ts';
import type { Slot } from './memory/slot.ts';
import { ThreadSampler } from './sampler-threads/sampler-pool.ts';
import { type OutputText, TextHistory } from './text/output-text.ts';
import type { PromptPlan } from './text/prompt.ts';
import type { Vocabulary } from './text/vocabulary.ts';

interface GenerationParts {
  readonly id: number;
  readonly request: GenerationRequest;
  readonly seed: number;
  readonly startedAt: number;
  readonly plan: PromptPlan;
  readonly vocabulary: Vocabulary;
  readonly slot: Slot;
  /** The same text after the negative prompt, computed in step with the slot; guidance moves away from its logits. */
  readonly negative: Slot | undefined;
  /** On this thread, or on another one. */
  readonly sampler: Sampler | ThreadSampler;
  readonly grammar: RequestGrammar | undefined;
  readonly budget: ReasoningBudget | undefined;
  readonly output: OutputText;
  readonly stopTokens: ReadonlySet<number>;
  readonly cachedTokens: number;
  /** Where the prompt differs from the cached text of its chat. */
  readonly miss: CacheMiss | undefined;
  readonly scores: PromptScores | undefined;
  readonly draft: Drafter | undefined;
  readonly now: () => number;
  /** Called once, when nothing of this is used any more. */
  readonly ended: () => void;
}

const deadEnd = 'no token of this model can continue the grammar';
const reasons = { 'end-token': 'stop', 'stop-text': 'stop', limit: 'length', aborted: 'aborted' } as const;

/** A running request: puts its tokens into each batch and reads its logits afterwards. */
export class Generation {
  readonly id: number;
  readonly slot: Slot;
  readonly #promptTokens: number;
  finished = false;
  aborted = false;
  /** Tokens chosen, including rewound ones: they count against the limit. */
  #chosen = 0;
  #drafted = { accepted: 0, rejected: 0 };
  #pendingLogprobs: TokenLogprob[] = [];
  #firstDecodeAt: number | undefined;
  #firstTokenAt: number | undefined;
  /** `startChoosing` has settled this batch. */
  #settled = false;
  /** `startChoosing` has asked for the next token. */
  #asked = false;
  /** Logits after the negative prompt, if they were computed in a separate batch. */
  #steeredFrom: Float32Array | undefined;
  readonly #history: TextHistory;

  constructor(private readonly parts: GenerationParts) {
    this.id = parts.id;
    this.slot = parts.slot;
    this.#promptTokens = parts.plan.tokens.length;
    this.#history = new TextHistory(parts.slot, this.#promptTokens);
    parts.grammar?.begin();
  }

  get readingPrompt(): boolean {
    const { slot } = this.parts;
    return slot.remaining - slot.guessed > 1;
  }

  /** Tokens that are left to compute. */
  get remaining(): number {
    return this.parts.slot.remaining;
  }

  start(): Piece {
    const { cachedTokens, plan, seed, miss } = this.parts;
    const counts = { promptTokens: this.#promptTokens, cachedTokens, maxTokens: plan.maxTokens };
    return { type: 'start', id: this.id, ...counts, droppedTokens: plan.dropped, seed, ...(miss && { miss }) };
  }

  /** The next part of its prompt is a medium, which is not computed in a batch. */
  get atMedium(): boolean {
    return this.parts.slot.nextMedium !== undefined;
  }

  /** Its prompt is not computed together with others: it needs other rows of logits, or must not depend on them. */
  get readsAlone(): boolean {
    const { slot, negative, scores } = this.parts;
    return negative !== undefined || scores !== undefined || slot.portion !== undefined || this.atMedium;
  }

  /** Computes that medium; `advance` or `interrupt` follow as after a batch. */
  async computeMedium(): Promise<DecodeResult> {
    const { slot, now } = this.parts;
    this.#firstDecodeAt ??= now();
    const medium = slot.nextMedium;
    return medium ? slot.computeMedium(medium) : 'ok';
  }

  /** Adds its next tokens to the batch, in which there are so many texts. */
  fill(limit: number, streams: number): void {
    const { slot, negative, scores, now } = this.parts;
    const room = scores && this.readingPrompt ? Math.min(limit, scores.rowsAtOnce) : limit;
    this.#firstDecodeAt ??= now();
    if (!negative) {
      if (slot.remaining === 1) this.#guess(room - 1, streams);
      slot.fill(room);
      return;
    }
    if (slot.portion !== undefined) {
      // Both have their own portions; the negative one goes first, and its logits are kept for the other's.
      (negative.remaining > 0 ? negative : slot).fill(room);
      return;
    }
    // Both logits must come from the same batch: the shorter one holds its last token back.
    const half = Math.floor(room / 2);
    const together = slot.remaining <= half && negative.remaining <= half;
    for (const one of [slot, negative]) one.fill(together ? half : Math.min(half, one.remaining - 1));
  }

  /** The batch was computed: asks for a token, and returns true, if another thread chooses it. `advance` takes it. */
  startChoosing(): boolean {
    const { slot, sampler, plan, budget, output } = this.parts;
    if (!(sampler instanceof ThreadSampler)) return false;
    slot.settle();
    this.#settled = true;
    const place = this.#placeOfLogits();
    if (place === undefined || this.aborted || plan.maxTokens === 0 || budget?.forced !== undefined) return false;
    // Only what follows the last certain token: guesses are chosen after it, one by one.
    sampler.ask(slot.context.logitsAddress(place - slot.guessed), slot.length - slot.guessed, output.forbidden);
    this.#asked = true;
    return true;
  }

  /** The batch was computed: chooses a token if its logits are there. */
  advance(pieces: Piece[]): void {
    const { slot, negative, cachedTokens, plan } = this.parts;
    // The next batch overwrites the logits.
    const scored = this.parts.scores?.read(slot) ?? [];
    if (scored.length > 0) pieces.push({ type: 'prompt-logprobs', id: this.id, tokens: scored });
    if (!this.#settled) slot.settle();
    this.#settled = false;
    negative?.settle();
    const place = this.#placeOfLogits();
    if (this.aborted) {
      this.#finish('aborted', pieces);
    } else if (place === undefined) {
      this.#keepSteering();
      // Not for tokens that are computed again after a banned phrase.
      if (this.#firstTokenAt !== undefined) return;
      const done = slot.computed - cachedTokens;
      pieces.push({ type: 'prompt-progress', id: this.id, done, total: this.#promptTokens - cachedTokens });
    } else {
      this.#firstTokenAt ??= this.parts.now();
      if (plan.maxTokens === 0) this.#finish('limit', pieces);
      else this.#chooseAll(place, pieces);
    }
  }

  /** Undefined while something is left to compute for the next choice. */
  #placeOfLogits(): number | undefined {
    const { slot, negative } = this.parts;
    const isSteered = !negative || this.#steeredFrom !== undefined || negative.place !== undefined;
    return isSteered && slot.remaining === 0 ? slot.place : undefined;
  }

  /** The next batch overwrites the logits of this one. */
  #keepSteering(): void {
    const { slot, negative } = this.parts;
    if (slot.portion === undefined || negative?.place === undefined || negative.remaining > 0) return;
    this.#steeredFrom = negative.context.logits(negative.place).slice();
    negative.place = undefined;
  }

  /** Chooses after the last certain token, and continues while the choice equals the draft: the text is the same as without it. */
  #chooseAll(lastPlace: number, pieces: Piece[]): void {
    const { slot } = this.parts;
    const guesses = slot.tokens.slice(slot.length - slot.guessed, slot.length);
    slot.withdrawGuesses();
    const firstPlace = lastPlace - guesses.length;
    let right = 0;
    for (; !this.finished; right += 1) {
      const length = slot.length;
      const token = this.#choose(firstPlace + right);
      if (token === noToken) this.fail(new AppError('engine-failed', { capability: 'text', reason: deadEnd }), pieces);
      else this.#take(token, pieces);
      if (right >= guesses.length || token !== guesses[right] || slot.length !== length + 1) break;
    }
    this.#drafted.accepted += right;
    this.#drafted.rejected += guesses.length - right;
    this.parts.draft?.result(right, guesses.length - right);
    if (guesses.length > 0 && !this.finished) slot.dropWrong();
  }

  /** Adds drafted tokens, never beyond the limit or the context. */
  #guess(room: number, streams: number): void {
    const { slot, draft, plan } = this.parts;
    if (!draft) return;
    const most = Math.min(room, plan.maxTokens - this.#chosen - 1, slot.tokens.length - slot.length - 1);
    if (most <= 0) return;
    const { tokens, length } = this.#history.upTo(slot.length);
    slot.guess(draft.propose(tokens, length, most, streams).slice());
  }

  /** The batch was aborted. */
  interrupt(pieces: Piece[]): void {
    this.parts.slot.rollback();
    this.parts.negative?.rollback();
    if (this.aborted) this.#finish('aborted', pieces);
  }

  fail(error: AppError, pieces: Piece[]): void {
    pieces.push({ type: 'error', id: this.id, error: { code: error.code, details: error.details } });
    this.#end();
  }

  #choose(place: number): number {
    const { slot, negative, sampler, budget, output, request } = this.parts;
    const forced = budget?.forced;
    if (forced !== undefined && request.logprobs === undefined) return forced;
    if (sampler instanceof ThreadSampler) return this.#chooseElsewhere(sampler, place);
    const logits = slot.context.logits(place);
    if (negative) {
      const scale = request.guidance?.scale ?? 1;
      mixGuidance(logits, this.#steeredFrom ?? negative.context.logits(negative.place as number), scale);
    }
    const { tokens, length } = this.#history.upTo(slot.length);
    const picked = sampler.pick(logits, tokens, length, output.forbidden);
    return forced ?? picked;
  }

  #chooseElsewhere(sampler: ThreadSampler, place: number): number {
    const { slot, output } = this.parts;
    if (!this.#asked) {
      sampler.ask(slot.context.logitsAddress(place), slot.length, output.forbidden);
      sampler.go();
    }
    this.#asked = false;
    return sampler.answer();
  }

  #take(token: number, pieces: Piece[]): void {
    const { vocabulary, request, stopTokens, output } = this.parts;
    this.#chosen += 1;
    if (request.logprobs !== undefined) this.#pendingLogprobs.push(this.#describe(token, request.logprobs));
    if (request.endTokens === 'stop' && vocabulary.isEnd(token)) {
      const step = request.renderSpecial === true ? output.accept(token) : undefined;
      if (step?.type === 'text') this.#emit(step.text, pieces);
      this.#finish('end-token', pieces);
    } else if (stopTokens.has(token)) {
      this.#finish('stop-text', pieces, vocabulary.detokenize([token], true));
    } else {
      this.#append(token, pieces);
    }
  }

  #append(token: number, pieces: Piece[]): void {
    const { slot, negative, grammar, budget, output, plan } = this.parts;
    if (grammar?.accept(token) === false) {
      const text =
        'A trigger was found, but the text after it does not match the grammar; it continues without the grammar.';
      pieces.push({ type: 'warning', id: this.id, code: 'grammar-not-begun', text });
    }
    budget?.accept(token);
    slot.append(token);
    negative?.append(token);
    const step = output.accept(token);
    if (step.type === 'rewind') this.#rewind(step.position);
    else this.#emit(step.text, pieces);
    if (step.type === 'text' && step.stop !== undefined) this.#finish('stop-text', pieces, step.stop);
    else if (this.#chosen >= plan.maxTokens || slot.length >= slot.tokens.length) this.#finish('limit', pieces);
  }

  /** A banned phrase was complete: back to its start, to choose again. */
  #rewind(position: number): void {
    const { slot, negative, grammar, budget, output } = this.parts;
    const removed = slot.length - (this.#promptTokens + position);
    this.#pendingLogprobs.length = Math.max(0, this.#pendingLogprobs.length - removed);
    slot.rewind(slot.length - removed);
    negative?.rewind(negative.length - removed);
    const kept = slot.tokens.subarray(this.#promptTokens, slot.length);
    output.rewound(kept);
    grammar?.replay(kept);
    budget?.reset();
    for (let index = 0; budget && index < slot.length; index += 1) budget.accept(slot.tokens[index] as number);
  }

  #emit(text: string, pieces: Piece[]): void {
    if (text === '') return;
    const logprobs = this.#pendingLogprobs;
    if (logprobs.length === 0) {
      pieces.push({ type: 'text-delta', id: this.id, text });
    } else {
      this.#pendingLogprobs = [];
      pieces.push({ type: 'text-delta', id: this.id, text, logprobs });
    }
  }

  #finish(cause: FinishCause, pieces: Piece[], stopText?: string): void {
    if (cause !== 'stop-text') {
      const rest = this.parts.output.flush();
      this.#emit(rest.text, pieces);
      if (rest.stop !== undefined && cause !== 'aborted') {
        this.#finish('stop-text', pieces, rest.stop);
        return;
      }
    }
    if (this.#pendingLogprobs.length > 0) {
      pieces.push({ type: 'text-delta', id: this.id, text: '', logprobs: this.#pendingLogprobs });
    }
    const { cachedTokens, startedAt, slot, draft } = this.parts;
    const promptTokens = this.#promptTokens;
    const end = this.parts.now();
    const firstDecodeAt = this.#firstDecodeAt ?? end;
    const firstTokenAt = this.#firstTokenAt ?? end;
    pieces.push({
      type: 'finish',
      id: this.id,
      reason: reasons[cause],
      cause,
      ...(stopText === undefined ? {} : { stopText }),
      usage: { promptTokens, cachedTokens, completionTokens: this.#chosen },
      timings: {
        initMs: firstDecodeAt - startedAt,
        promptMs: firstTokenAt - firstDecodeAt,
        generationMs: end - firstTokenAt,
        processedTokens: Math.max(0, Math.min(slot.computed, promptTokens) - cachedTokens),
        ...(draft ? { draft: this.#drafted } : {}),
      },
    });
    this.#end();
  }

  #end(): void {
    if (this.finished) return;
    this.finished = true;
    const { slot } = this.parts;
    // Rejected draft tokens must not stay in the cache.
    if (slot.computed > slot.length) slot.forgetFrom(slot.length);
    slot.finish(this.parts.now());
    this.parts.negative?.finish();
    this.parts.ended();
  }

  #describe(token: number, alternatives: number): TokenLogprob {
    const { vocabulary, sampler } = this.parts;
    if (sampler instanceof ThreadSampler) throw new Error('another thread keeps no distribution');
    const { logprob, top } = logprobsOf(sampler.candidates, token, alternatives);
    const likeliest = top.map((one) => tokenChoice(vocabulary, one.token, one.logprob));
    return { ...tokenChoice(vocabulary, token, logprob), top: likeliest };
  }
}
