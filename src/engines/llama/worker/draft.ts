import type { GenerationRequest } from '../../../core/request.ts';
import type { LoadedModel, LoadOptions } from '../load-options.ts';
import { afterDraft, type DraftState, firstDraft } from './decide.ts';
import type { Context, DecodeResult } from './memory/context.ts';
import { commonPrefix } from './memory/snapshot.ts';
import { drafts } from './scheduling.ts';

export interface DraftModelOptions {
  readonly sequences: number;
  readonly context: Pick<Context, 'batchCapacity' | 'clearBatch' | 'add' | 'decodeNow' | 'logits' | 'forget'>;
  readonly contextSize: number;
  /** Both models have the tokens below this. */
  readonly sharedTokens: number;
  readonly isEnd: (token: number) => boolean;
}

export const nothing = new Int32Array(0);

/** The draft model's sequence for one slot of the main model. */
export interface DraftSequence {
  readonly sequence: number;
  readonly tokens: Int32Array;
  computed: number;
}

/** A small model that drafts for a large one. Each slot has its own sequence, which is rewound only to the first changed token. */
export class DraftModel {
  protected readonly drafts: readonly DraftSequence[];

  constructor(protected readonly options: DraftModelOptions) {
    this.drafts = Array.from({ length: options.sequences }, (_, sequence) => {
      return { sequence, tokens: new Int32Array(options.contextSize), computed: 0 };
    });
  }

  /** Up to `max` tokens, once the whole sequence is computed: one batch per call, so that a long prompt does not delay a step. */
  propose(sequence: number, tokens: Int32Array, length: number, max: number): Int32Array {
    const count = Math.min(max, this.options.contextSize - length);
    const draft = this.drafts[sequence];
    if (!draft || count <= 0 || length === 0) return nothing;
    const sequenceTokens = tokens.subarray(0, length);
    const cached = draft.tokens.subarray(0, draft.computed);
    // The last token is always computed again: its logits were overwritten.
    this.keep(draft, Math.min(commonPrefix(cached, sequenceTokens), length - 1));
    const { computed } = draft;
    let row = this.#compute(draft, sequenceTokens.subarray(computed, computed + this.options.context.batchCapacity));
    if (row === undefined || draft.computed < length) return nothing;
    const drafted: number[] = [];
    for (;;) {
      const token = likeliest(this.options.context.logits(row), this.options.sharedTokens);
      if (this.options.isEnd(token)) break;
      drafted.push(token);
      if (drafted.length >= count) break;
      row = this.#compute(draft, Int32Array.of(token));
      if (row === undefined) break;
    }
    return Int32Array.from(drafted);
  }

  /** Computes tokens; returns the index of the last logits, or undefined if that is not possible. */
  #compute(draft: DraftSequence, tokens: Int32Array): number | undefined {
    const { context, sharedTokens } = this.options;
    if (tokens.some((token) => token >= sharedTokens)) return undefined;
    const row = this.fill(draft, tokens, true);
    if (!this.settle(draft, tokens, context.decodeNow())) return undefined;
    return row;
  }

  /** Puts tokens into the batch, with logits for the last one or none; returns the last row. */
  protected fill(draft: DraftSequence, tokens: Int32Array, needsLogits: boolean): number {
    const { context } = this.options;
    context.clearBatch();
    let row = 0;
    for (const [index, token] of tokens.entries()) {
      const isOutput = needsLogits && index === tokens.length - 1;
      row = context.add(token, draft.computed + index, draft.sequence, isOutput);
    }
    return row;
  }

  /** After the batch. If it was not computed, it is unknown which tokens are cached, so the sequence is emptied. */
  protected settle(draft: DraftSequence, tokens: Int32Array, result: DecodeResult): boolean {
    if (result !== 'ok') {
      this.keep(draft, 0);
      return false;
    }
    draft.tokens.set(tokens, draft.computed);
    draft.computed += tokens.length;
    return true;
  }

  protected keep(draft: DraftSequence, count: number): void {
    const { context } = this.options;
    draft.computed = context.forget(draft.sequence, count) ? count : 0;
    if (draft.computed !== count) context.forget(draft.sequence, 0);
  }
}

function likeliest(logits: Float32Array, end: number): number {
  let best = 0;
  for (let token = 1; token < end; token += 1) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  return best;
}

export interface Drafter {
  readonly state: DraftState;
  /** Proposes up to `max` tokens that may follow the first `length` of `tokens`. */
  propose(tokens: Int32Array, length: number, max: number): Int32Array;
  /** How many drafted tokens were accepted and rejected in a step with this many sequences. */
  result(sequences: number, accepted: number, rejected: number): void;
}

interface DrafterDeps {
  readonly options: Pick<LoadOptions, 'draft' | 'deterministic'>;
  readonly context: Pick<Context, 'memory'>;
  readonly draft: DraftModel | undefined;
  /** The success of the last drafts of all requests: the next request starts where the last one ended. */
  readonly draftRecord: { rejectedInARow: number };
  readonly info: Pick<LoadedModel, 'gpuLayers'>;
}

/** Speculative decoding, if the cache can be rewound: prompt lookup first, then the draft model, which does not follow a grammar. */
export function drafter(
  { options, context, draft: model, draftRecord, info }: DrafterDeps,
  { grammar }: Pick<GenerationRequest, 'grammar'>,
  sequence: number,
  arch: string = process.arch,
): Drafter | undefined {
  const { draft, deterministic } = options;
  const draftModel = grammar ? undefined : model;
  // A batch of several tokens rounds differently from single tokens.
  if (deterministic) return undefined;
  if (!draft || context.memory === 'state' || (draft.pattern <= 0 && !draftModel)) return undefined;
  const blockRows = drafts.rowsPerKernel[info.gpuLayers === 0 && arch === 'arm64' ? 'arm64' : 'other'];
  let state = firstDraft(draft.amount, blockRows, draftRecord.rejectedInARow);
  return {
    get state() {
      return state;
    },
    propose: (tokens, length, max) => {
      const match = draft.pattern > 0 ? lookupDraft(tokens, length, draft.pattern, max) : nothing;
      return match.length > 0 || !draftModel ? match : draftModel.propose(sequence, tokens, length, max);
    },
    result: (sequences, accepted, rejected) => {
      state = afterDraft(state, sequences, accepted, rejected);
      if (accepted + rejected > 0) draftRecord.rejectedInARow = state.rejectedInARow;
    },
  };
}

/** Prompt lookup decoding: proposes what followed the latest earlier occurrence of the last `pattern` tokens. */
export function lookupDraft(tokens: Int32Array, length: number, pattern: number, max: number): Int32Array {
  const start = length - pattern;
  if (start <= 0 || max <= 0) return tokens.subarray(0, 0);
  for (let index = start - 1; index >= 0; index -= 1) {
    if (!matches(tokens, index, start, pattern)) continue;
    const from = index + pattern;
    return tokens.subarray(from, Math.min(from + max, length));
  }
  return tokens.subarray(0, 0);
}

function matches(tokens: Int32Array, index: number, start: number, pattern: number): boolean {
  for (let offset = pattern - 1; offset >= 0; offset -= 1) {
    if (tokens[index + offset] !== tokens[start + offset]) return false;
  }
  return true;
}
