import { basename } from 'node:path';
import type { GenerationRequest } from '../../../core/request.ts';
import { type LoadedModel, type LoadOptions, readModelFile } from '../load-options.ts';
import { afterDraft, type DraftState, firstDraft } from './decide.ts';
import { Context, contextParams } from './memory/context.ts';
import { commonPrefix } from './memory/snapshot.ts';
import type { Native, Threadpools } from './native/native.ts';
import { type ProcessMemory, withUntouchedGivenBack } from './native/process-memory.ts';
import type { Pointer } from './native/structs.ts';
import { gpuDevices, loadWeights, NativeLoadError } from './native/weights.ts';
import { drafts } from './scheduling.ts';
import { Vocabulary } from './text/vocabulary.ts';

interface DraftModelOptions {
  readonly sequences: number;
  readonly context: Pick<Context, 'batchCapacity' | 'clearBatch' | 'add' | 'decodeNow' | 'logits' | 'forget'>;
  readonly contextSize: number;
  /** Both models have the tokens below this. */
  readonly sharedTokens: number;
  readonly isEnd: (token: number) => boolean;
}

const nothing = new Int32Array(0);

/** The draft model's sequence for one slot of the main model. */
interface DraftSequence {
  readonly sequence: number;
  readonly tokens: Int32Array;
  computed: number;
}

/** A small model that drafts for a large one. Each slot has its own sequence, which is rewound only to the first changed token. */
export class DraftModel {
  readonly #drafts: readonly DraftSequence[];

  constructor(private readonly options: DraftModelOptions) {
    this.#drafts = Array.from({ length: options.sequences }, (_, sequence) => {
      return { sequence, tokens: new Int32Array(options.contextSize), computed: 0 };
    });
  }

  /** Up to `max` tokens, once the whole text is computed: one batch per call, so that a long prompt does not delay a step. */
  propose(sequence: number, tokens: Int32Array, length: number, max: number): Int32Array {
    const count = Math.min(max, this.options.contextSize - length);
    const draft = this.#drafts[sequence];
    if (!draft || count <= 0 || length === 0) return nothing;
    const text = tokens.subarray(0, length);
    const cached = draft.tokens.subarray(0, draft.computed);
    // The last token is always computed again: its logits were overwritten.
    this.#keep(draft, Math.min(commonPrefix(cached, text), length - 1));
    const { computed } = draft;
    let row = this.#compute(draft, text.subarray(computed, computed + this.options.context.batchCapacity));
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
    context.clearBatch();
    let row = 0;
    for (const [index, token] of tokens.entries()) {
      row = context.add(token, draft.computed + index, draft.sequence, index === tokens.length - 1);
    }
    if (context.decodeNow() !== 'ok') {
      this.#keep(draft, 0);
      return undefined;
    }
    draft.tokens.set(tokens, draft.computed);
    draft.computed += tokens.length;
    return row;
  }

  #keep(draft: DraftSequence, count: number): void {
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

interface DraftDeps {
  readonly native: Native;
  readonly options: LoadOptions;
  readonly vocabulary: Vocabulary;
  /** The context of the main model. */
  readonly context: Pick<Context, 'memory'>;
  readonly contextSize: number;
  readonly threadpools: Threadpools;
  readonly memory: ProcessMemory | undefined;
  readonly notes: string[];
}

/** The model of `--draftmodel`; undefined without one. Throws a sentence if it cannot be used. */
export async function openDraft(deps: DraftDeps): Promise<DraftModel | undefined> {
  const { native, options, vocabulary, contextSize, threadpools, memory, notes } = deps;
  const { draft, sequences } = options;
  if (!draft || options.deterministic) return undefined;
  if (deps.context.memory === 'state') {
    notes.push('This kind of model cannot take guesses back: drafting has no effect.');
    return undefined;
  }
  if (!draft.model) return undefined;
  const { path } = draft.model;
  const model = await draftWeights(native, options, draft.model);
  if (native.modelIsRecurrent(model) || native.modelIsHybrid(model) || !native.modelHasDecoder(model)) {
    throw new Error(`the draft model ${path} is of a kind that cannot take guesses back; use a plain transformer`);
  }
  const draftVocabulary = new Vocabulary(native, native.modelVocabulary(model), options);
  const reason = disagreement(vocabulary, draftVocabulary);
  if (reason) throw new Error(`the draft model ${path} does not have the vocabulary of the model: ${reason}`);
  // A full window: after rewinding a few tokens, all tokens before them must still be cached.
  const shared = contextParams(native, options, contextSize, sequences);
  const params = { ...shared, n_outputs_max_per_seq: 1, swa_full: true };
  const context = withUntouchedGivenBack(memory, () => new Context(native, model, params, draftVocabulary.size));
  threadpools.attach(context.pointer);
  const trained = native.modelTrainedContext(model);
  if (trained < contextSize) {
    notes.push(
      `The draft model was trained for a context of ${trained}: beyond that its guesses will mostly be wrong.`,
    );
  }
  notes.push(`${basename(path)} drafts up to ${draft.amount} tokens at each step.`);
  const sharedTokens = Math.min(vocabulary.size, draftVocabulary.size);
  return new DraftModel({ context, sequences, contextSize, sharedTokens, isEnd: (token) => vocabulary.isEnd(token) });
}

/** Of the options for the main model's weights, only the load mode applies. */
async function draftWeights(
  native: Native,
  options: LoadOptions,
  { path, gpuLayers }: { readonly path: string; readonly gpuLayers: number },
): Promise<Pointer> {
  const own = { ...options, model: path, gpuLayers, tensorSplit: [], metadataOverrides: [], tensorOverrides: [] };
  try {
    await readModelFile(path);
    const gpus = gpuDevices(native, own);
    return await loadWeights(native, own, gpus, gpus.length === 0 ? 0 : gpuLayers, () => {});
  } catch (error) {
    const why = error instanceof NativeLoadError ? 'the engine refuses it' : (error as Error).message;
    throw new Error(`the draft model ${path} cannot be loaded: ${why}`);
  }
}

type TokenTexts = Pick<Vocabulary, 'size' | 'bytes'>;

/** Vocabularies of one model family may differ by this much in the padding after the last real token. */
const maxPadding = 128;
/** How many tokens are compared: a sample suffices, because a different vocabulary differs nearly everywhere. */
const comparedTokens = 512;

/** How two vocabularies differ, as a clause; undefined if they agree. */
export function disagreement(model: TokenTexts, draft: TokenTexts): string | undefined {
  if (Math.abs(model.size - draft.size) > maxPadding) {
    return `it has ${draft.size} tokens and the model has ${model.size}`;
  }
  const common = Math.min(model.size, draft.size) - (model.size === draft.size ? 0 : maxPadding);
  const step = Math.max(1, Math.floor(common / comparedTokens));
  for (let token = 0; token < common; token += step) {
    const [theirs, ours] = [draft, model].map((one) => Buffer.from(one.bytes(token, true)).toString());
    if (theirs !== ours) return `token ${token} is ${JSON.stringify(theirs)} there and ${JSON.stringify(ours)} here`;
  }
  return undefined;
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
