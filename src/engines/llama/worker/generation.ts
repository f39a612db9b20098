import { AppError } from '../../../core/errors.ts';
import type { CacheMiss, FinishCause, PromptOrigin, TokenLogprob } from '../../../core/events.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { logprobsOf } from '../../../sampling/logprobs.ts';
import type { ReasoningBudget } from '../../../sampling/reasoning-budget.ts';
import { mixGuidance, noToken, type Sampler } from '../../../sampling/sampler.ts';
import type { Piece } from '../messages.ts';
import type { DraftState } from './decide.ts';
import type { Drafter } from './draft.ts';
import type { RequestGrammar } from './grammar.ts';
import type { DecodeResult } from './memory/context.ts';
import { type PromptScores, tokenChoice } from './memory/prompt-scores.ts';
import type { Slot } from './memory/slot.ts';
import type { PredictionLayers } from './prediction-layers.ts';
import { ThreadSampler } from './sampler-threads/sampler-pool.ts';
import { type OutputText, TextHistory } from './text/output-text.ts';
import type { PromptPlan } from './text/prompt.ts';
import type { Vocabulary } from './text/vocabulary.ts';

interface GenerationDeps {
  readonly id: number;
  readonly request: GenerationRequest;
  readonly seed: number;
  readonly startedAt: number;
  readonly plan: PromptPlan;
  readonly vocabulary: Vocabulary;
  readonly slot: Slot;
  /** The same sequence after the negative prompt, computed in step with the slot; guidance moves away from its logits. */
  readonly negative: Slot | undefined;
  /** On the main thread, or on a sampler thread. */
  readonly sampler: Sampler | ThreadSampler;
  readonly grammar: RequestGrammar | undefined;
  readonly budget: ReasoningBudget | undefined;
  readonly output: OutputText;
  readonly stopTokens: ReadonlySet<number>;
  readonly cachedTokens: number;
  /** Where the prompt differs from the cached sequence of its chat. */
  readonly known: { readonly origin: PromptOrigin; readonly miss?: CacheMiss } | undefined;
  readonly scores: PromptScores | undefined;
  readonly draft: Drafter | undefined;
  readonly now: () => number;
  /** Called once, after its last use of slot and sampler, with the tokens of its prompt that were computed and their time. */
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
  /** Interrupt it for another request, if at least this many tokens of its prompt are left. */
  interruptFrom: number | undefined;
  /** Sampled tokens, including rewound ones: they count against the limit. */
  #sampled = 0;
  #drafted = { accepted: 0, rejected: 0 };
  /** Number of sequences in the last batch. */
  #sequences = 1;
  #pendingLogprobs: TokenLogprob[] = [];
  #firstDecodeAt: number | undefined;
  #firstTokenAt: number | undefined;
  /** `startSampling` has settled this batch. */
  #settled = false;
  /** `startSampling` has submitted the next token to a sampler thread. */
  #submitted = false;
  /** Logits after the negative prompt, if they were computed in a separate batch. */
  #negativeLogits: Float32Array | undefined;
  readonly #history: TextHistory;

  constructor(private readonly deps: GenerationDeps) {
    this.id = deps.id;
    this.slot = deps.slot;
    this.#promptTokens = deps.plan.tokens.length;
    this.#history = new TextHistory(deps.slot, this.#promptTokens);
    deps.grammar?.begin();
  }

  get inPrefill(): boolean {
    const { slot } = this.deps;
    return slot.remaining - slot.drafted > 1;
  }

  /** Whether nothing is lost if it is aborted: no token was sampled, and started again it continues from the cache. */
  get isInterruptible(): boolean {
    const { negative, scores, request } = this.deps;
    return this.inPrefill && this.#sampled === 0 && !negative && !scores && request.media.length === 0;
  }

  /** Whether it can leave its slot and continue later. */
  get isHoldable(): boolean {
    const { negative, scores, request, slot } = this.deps;
    return !negative && !scores && request.media.length === 0 && slot.portion === undefined;
  }

  /** Tokens that are left to compute. */
  get remaining(): number {
    return this.deps.slot.remaining;
  }

  start(): Piece {
    const { cachedTokens, plan, seed, known } = this.deps;
    const counts = { promptTokens: this.#promptTokens, cachedTokens, maxTokens: plan.maxTokens };
    return { type: 'start', id: this.id, ...counts, droppedTokens: plan.dropped, seed, ...known };
  }

  /** The next part of its prompt is a medium, which is not computed in a batch. */
  get atMedium(): boolean {
    return this.deps.slot.nextMedium !== undefined;
  }

  /** Its prompt must not share a batch with others: it needs more rows of logits, or must not depend on other requests. */
  get prefillsAlone(): boolean {
    const { slot, negative, scores } = this.deps;
    const oneSequence = slot.portion !== undefined || slot.context.reordersStates;
    return negative !== undefined || scores !== undefined || oneSequence || this.atMedium;
  }

  /** Computes that medium; `advance` or `interrupt` follow as after a batch. */
  async computeMedium(): Promise<DecodeResult> {
    const { slot, now } = this.deps;
    this.#firstDecodeAt ??= now();
    const medium = slot.nextMedium;
    return medium ? slot.computeMedium(medium) : 'ok';
  }

  /** Undefined if nothing is drafted. */
  get draft(): DraftState | undefined {
    return this.deps.negative ? undefined : this.deps.draft?.state;
  }

  /** Adds its next tokens, with up to `draft` drafted ones, to a batch of this many sequences. */
  fill(limit: number, draft: number, sequences: number): void {
    const { slot, negative, scores, now } = this.deps;
    const room = scores && this.inPrefill ? Math.min(limit, scores.maxRows) : limit;
    this.#firstDecodeAt ??= now();
    this.#sequences = sequences;
    if (!negative) {
      if (slot.remaining === 1) this.#addDraft(Math.min(room - 1, draft));
      slot.fill(room);
      return;
    }
    if (slot.portion !== undefined) {
      // Both have their own portions; the negative one is computed first, and its logits are kept until the other's are there.
      (negative.remaining > 0 ? negative : slot).fill(room);
      return;
    }
    // Both logits must come from the same batch: the shorter sequence holds its last token back.
    const half = Math.floor(room / 2);
    const together = slot.remaining <= half && negative.remaining <= half;
    for (const one of [slot, negative]) one.fill(together ? half : Math.min(half, one.remaining - 1));
  }

  /** The batch was computed: the layers for multi-token prediction need the hidden states of its tokens before the next one. */
  async follow(layers: Pick<PredictionLayers, 'follow'>): Promise<void> {
    const { slot, negative } = this.deps;
    if (negative) return;
    const { from, end, firstRow } = slot.batched;
    await layers.follow(slot.sequence, slot.tokens, from, end, (index) =>
      slot.context.hiddenState(firstRow + index - from),
    );
  }

  /** The batch was computed: true if a sampler thread now samples the next token, which `advance` takes. */
  startSampling(): boolean {
    const { slot, sampler, plan, budget, output } = this.deps;
    if (!(sampler instanceof ThreadSampler)) return false;
    slot.settle();
    this.#settled = true;
    const row = this.#logitsRow();
    if (row === undefined || this.aborted || plan.maxTokens === 0 || budget?.forced !== undefined) return false;
    // Only the token after the last accepted one: drafted tokens are verified after it, one by one.
    sampler.submit(slot.context.logitsAddress(row - slot.drafted), slot.length - slot.drafted, output.forbidden);
    this.#submitted = true;
    return true;
  }

  /** The batch was computed: samples a token if its logits are there. */
  advance(pieces: Piece[]): void {
    const { slot, negative, cachedTokens, plan } = this.deps;
    // The next batch overwrites the logits.
    const scored = this.deps.scores?.read(slot) ?? [];
    if (scored.length > 0) pieces.push({ type: 'prompt-logprobs', id: this.id, tokens: scored });
    if (!this.#settled) slot.settle();
    this.#settled = false;
    negative?.settle();
    const row = this.#logitsRow();
    if (this.aborted) {
      this.#finish('aborted', pieces);
    } else if (row === undefined) {
      this.#keepNegativeLogits();
      // Not for tokens that are computed again after a banned phrase.
      if (this.#firstTokenAt !== undefined) return;
      const done = slot.computed - cachedTokens;
      pieces.push({ type: 'prompt-progress', id: this.id, done, total: this.#promptTokens - cachedTokens });
    } else {
      this.#firstTokenAt ??= this.deps.now();
      if (plan.maxTokens === 0) this.#finish('limit', pieces);
      else this.#sampleAll(row, pieces);
    }
  }

  /** The row of the logits for the next token; undefined while something is left to compute. */
  #logitsRow(): number | undefined {
    const { slot, negative } = this.deps;
    const hasNegative = !negative || this.#negativeLogits !== undefined || negative.logitsRow !== undefined;
    return hasNegative && slot.remaining === 0 ? slot.logitsRow : undefined;
  }

  /** The next batch overwrites the logits of this one. */
  #keepNegativeLogits(): void {
    const { slot, negative } = this.deps;
    if (slot.portion === undefined || negative?.logitsRow === undefined || negative.remaining > 0) return;
    this.#negativeLogits = negative.context.logits(negative.logitsRow).slice();
    negative.logitsRow = undefined;
  }

  /** Samples the next token, and continues while it equals the draft: the text is the same as without drafts. */
  #sampleAll(lastRow: number, pieces: Piece[]): void {
    const { slot } = this.deps;
    const drafted = slot.tokens.slice(slot.length - slot.drafted, slot.length);
    slot.withdrawDraft();
    const firstRow = lastRow - drafted.length;
    let accepted = 0;
    for (; !this.finished; accepted += 1) {
      const length = slot.length;
      const token = this.#sample(firstRow + accepted);
      if (token === noToken) this.fail(new AppError('engine-failed', { capability: 'text', reason: deadEnd }), pieces);
      else this.#take(token, pieces);
      if (accepted >= drafted.length || token !== drafted[accepted] || slot.length !== length + 1) break;
    }
    this.#drafted.accepted += accepted;
    this.#drafted.rejected += drafted.length - accepted;
    this.deps.draft?.result(this.#sequences, accepted, drafted.length - accepted);
    if (drafted.length > 0 && !this.finished) slot.dropRejected();
  }

  /** Adds drafted tokens, never beyond the limit or the context. */
  #addDraft(room: number): void {
    const { slot, draft, plan } = this.deps;
    if (!draft) return;
    const max = Math.min(room, plan.maxTokens - this.#sampled - 1, slot.tokens.length - slot.length - 1);
    if (max <= 0) return;
    const { tokens, length } = this.#history.upTo(slot.length);
    slot.addDraft(draft.propose(tokens, length, max).slice());
  }

  /** The batch was aborted. */
  interrupt(pieces: Piece[]): void {
    this.deps.slot.rollback();
    this.deps.negative?.rollback();
    if (this.aborted) this.#finish('aborted', pieces);
  }

  fail(error: AppError, pieces: Piece[]): void {
    pieces.push({ type: 'error', id: this.id, error: { code: error.code, details: error.details } });
    this.#end();
  }

  #sample(row: number): number {
    const { slot, negative, sampler, budget, output, request } = this.deps;
    const forced = budget?.forced;
    if (forced !== undefined && request.logprobs === undefined) return forced;
    if (sampler instanceof ThreadSampler) return this.#sampleOnThread(sampler, row);
    const logits = slot.context.logits(row);
    if (negative) {
      const scale = request.guidance?.scale ?? 1;
      mixGuidance(logits, this.#negativeLogits ?? negative.context.logits(negative.logitsRow as number), scale);
    }
    const { tokens, length } = this.#history.upTo(slot.length);
    const picked = sampler.pick(logits, tokens, length, output.forbidden);
    return forced ?? picked;
  }

  #sampleOnThread(sampler: ThreadSampler, row: number): number {
    const { slot, output } = this.deps;
    if (!this.#submitted) {
      sampler.submit(slot.context.logitsAddress(row), slot.length, output.forbidden);
      sampler.go();
    }
    this.#submitted = false;
    return sampler.result();
  }

  #take(token: number, pieces: Piece[]): void {
    const { vocabulary, request, stopTokens, output, grammar } = this.deps;
    this.#sampled += 1;
    if (request.logprobs !== undefined) this.#pendingLogprobs.push(this.#describe(token, request.logprobs));
    // A banned end token is sampled only if the grammar allows nothing else.
    const stops = request.endTokens === 'stop' || (request.endTokens === 'ban' && grammar?.begun);
    if (stops && vocabulary.isEnd(token)) {
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
    const { slot, negative, grammar, budget, output, plan } = this.deps;
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
    else if (this.#sampled >= plan.maxTokens || slot.length >= slot.tokens.length) this.#finish('limit', pieces);
  }

  /** A banned phrase is complete: rewinds to its start, to sample again. */
  #rewind(position: number): void {
    const { slot, negative, grammar, budget, output } = this.deps;
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
      const rest = this.deps.output.flush();
      this.#emit(rest.text, pieces);
      if (rest.stop !== undefined && cause !== 'aborted') {
        this.#finish('stop-text', pieces, rest.stop);
        return;
      }
    }
    if (this.#pendingLogprobs.length > 0) {
      pieces.push({ type: 'text-delta', id: this.id, text: '', logprobs: this.#pendingLogprobs });
    }
    const { cachedTokens, startedAt, draft } = this.deps;
    const promptTokens = this.#promptTokens;
    const end = this.deps.now();
    const firstDecodeAt = this.#firstDecodeAt ?? end;
    const firstTokenAt = this.#firstTokenAt ?? end;
    pieces.push({
      type: 'finish',
      id: this.id,
      reason: reasons[cause],
      cause,
      ...(stopText === undefined ? {} : { stopText }),
      usage: { promptTokens, cachedTokens, completionTokens: this.#sampled },
      timings: {
        initMs: firstDecodeAt - startedAt,
        promptMs: firstTokenAt - firstDecodeAt,
        generationMs: end - firstTokenAt,
        processedTokens: this.#processedTokens,
        ...(draft ? { draft: this.#drafted } : {}),
      },
    });
    this.#end();
  }

  get #processedTokens(): number {
    const { slot, cachedTokens } = this.deps;
    return Math.max(0, Math.min(slot.computed, this.#promptTokens) - cachedTokens);
  }

  #end(): void {
    if (this.finished) return;
    this.finished = true;
    const { slot } = this.deps;
    // Rejected drafted tokens must not stay in the cache.
    if (slot.computed > slot.length) slot.forgetFrom(slot.length);
    slot.finish(this.deps.now());
    this.deps.negative?.finish();
    this.deps.ended();
  }

  #describe(token: number, alternatives: number): TokenLogprob {
    const { vocabulary, sampler } = this.deps;
    if (sampler instanceof ThreadSampler) throw new Error('a sampler thread keeps no distribution');
    const { logprob, top } = logprobsOf(sampler.candidates, token, alternatives);
    const likeliest = top.map((one) => tokenChoice(vocabulary, one.token, one.logprob));
    return { ...tokenChoice(vocabulary, token, logprob), top: likeliest };
  }
}
