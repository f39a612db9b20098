import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { GenerationRequest } from '../../../core/request.ts';
import { type LoadOptions, readModelFile } from '../load-options.ts';
import { Context } from './memory/context.ts';
import { commonPrefix } from './memory/reuse.ts';
import type { Native, Threadpools } from './native/native.ts';
import { type ProcessMemory, withUntouchedGivenBack } from './native/process-memory.ts';
import type { Pointer } from './native/structs.ts';
import { gpuDevices, loadWeights, NativeLoadError } from './native/weights.ts';
import { Vocabulary } from './text/vocabulary.ts';

export interface DraftModelParts {
  /** How many texts it can follow at the same time. */
  readonly sequences: number;
  readonly context: Pick<Context, 'batchCapacity' | 'clearBatch' | 'add' | 'decodeNow' | 'logits' | 'forget'>;
  readonly contextSize: number;
  /** The tokens that both models know are those below this. */
  readonly sharedTokens: number;
  readonly isEnd: (token: number) => boolean;
}

const nothing = new Int32Array(0);

/** What it has computed of one text. */
interface Followed {
  readonly sequence: number;
  readonly tokens: Int32Array;
  computed: number;
}

/**
 * A small model that follows the texts of a large one and says how they would go on: each with a sequence of its own, since
 * texts that take turns in one would be read anew at every token. It keeps what it has computed and goes back only as
 * far as a text has changed, so that several chats in turn are followed as well as one.
 */
export class DraftModel {
  readonly #followed: readonly Followed[];

  constructor(private readonly parts: DraftModelParts) {
    this.#followed = Array.from({ length: parts.sequences }, (_, sequence) => {
      return { sequence, tokens: new Int32Array(parts.contextSize), computed: 0 };
    });
  }

  /**
   * The tokens that it finds most likely, up to `most`. It reads at most one batch of unknown text each time and guesses
   * nothing until it has caught up: a long prompt must not hold up the text that is being written behind it.
   */
  propose(sequence: number, tokens: Int32Array, length: number, most: number): Int32Array {
    const count = Math.min(most, this.parts.contextSize - length);
    const followed = this.#followed[sequence];
    if (!followed || count <= 0 || length === 0) return nothing;
    const text = tokens.subarray(0, length);
    const cached = followed.tokens.subarray(0, followed.computed);
    // The last token is computed again in any case: its logits are gone.
    this.#keep(followed, Math.min(commonPrefix(cached, text), length - 1));
    const { computed } = followed;
    let place = this.#read(followed, text.subarray(computed, computed + this.parts.context.batchCapacity));
    if (place === undefined || followed.computed < length) return nothing;
    const guesses: number[] = [];
    for (;;) {
      const token = likeliest(this.parts.context.logits(place), this.parts.sharedTokens);
      // Behind the end of a text there is nothing to guess.
      if (this.parts.isEnd(token)) break;
      guesses.push(token);
      if (guesses.length >= count) break;
      place = this.#read(followed, Int32Array.of(token));
      if (place === undefined) break;
    }
    return Int32Array.from(guesses);
  }

  /** Computes more text; the place of its last logits, or undefined where it cannot be followed. */
  #read(followed: Followed, tokens: Int32Array): number | undefined {
    const { context, sharedTokens } = this.parts;
    if (tokens.some((token) => token >= sharedTokens)) return undefined;
    context.clearBatch();
    let place = 0;
    for (const [index, token] of tokens.entries()) {
      place = context.add(token, followed.computed + index, followed.sequence, index === tokens.length - 1);
    }
    if (context.decodeNow() !== 'ok') {
      this.#keep(followed, 0);
      return undefined;
    }
    followed.tokens.set(tokens, followed.computed);
    followed.computed += tokens.length;
    return place;
  }

  #keep(followed: Followed, count: number): void {
    const { context } = this.parts;
    followed.computed = context.forget(followed.sequence, count) ? count : 0;
    if (followed.computed !== count) context.forget(followed.sequence, 0);
  }
}

function likeliest(logits: Float32Array, end: number): number {
  let best = 0;
  for (let token = 1; token < end; token += 1) {
    if ((logits[token] as number) > (logits[best] as number)) best = token;
  }
  return best;
}

interface DraftSurroundings {
  readonly native: Native;
  readonly options: LoadOptions;
  readonly vocabulary: Vocabulary;
  readonly contextSize: number;
  readonly threadpools: Threadpools;
  readonly memory: ProcessMemory | undefined;
  /** Whether the model that is guessed for can take wrong guesses back. */
  readonly canRewind: boolean;
  readonly notes: string[];
}

/** The small model of `--draftmodel`; undefined without one. Throws a sentence where it cannot serve. */
export async function openDraft(surroundings: DraftSurroundings): Promise<DraftModel | undefined> {
  const { native, options, vocabulary, contextSize, threadpools, memory, canRewind, notes } = surroundings;
  const { draft } = options;
  if (!draft || options.deterministic) return undefined;
  if (!canRewind) {
    notes.push('This kind of model cannot take guesses back: drafting has no effect.');
    return undefined;
  }
  if (!draft.model) return undefined;
  const { path } = draft.model;
  const model = await draftWeights(native, options, draft.model);
  if (native.modelIsRecurrent(model) || native.modelIsHybrid(model) || !native.modelHasDecoder(model)) {
    throw new Error(`the draft model ${path} is of a kind that cannot take guesses back; use a plain transformer`);
  }
  const words = new Vocabulary(native, native.modelVocabulary(model), options);
  const reason = disagreement(vocabulary, words);
  if (reason) throw new Error(`the draft model ${path} does not have the vocabulary of the model: ${reason}`);
  const params = contextParams(native, options, contextSize);
  const context = withUntouchedGivenBack(memory, () => new Context(native, model, params, words.size));
  threadpools.attach(context.pointer);
  const trained = native.modelTrainedContext(model);
  if (trained < contextSize) {
    notes.push(
      `The draft model was trained for a context of ${trained}: beyond that its guesses will mostly be wrong.`,
    );
  }
  notes.push(`${basename(path)} drafts up to ${draft.amount} tokens at each step.`);
  const sharedTokens = Math.min(vocabulary.size, words.size);
  const { sequences } = options;
  return new DraftModel({ context, sequences, contextSize, sharedTokens, isEnd: (token) => vocabulary.isEnd(token) });
}

/** Nothing that was said about the large model's weights holds for these, besides how files are read. */
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

function contextParams(native: Native, options: LoadOptions, contextSize: number) {
  const batchSize = Math.min(options.batchSize, contextSize);
  return {
    ...native.contextDefaults(),
    n_ctx: contextSize * options.sequences,
    n_batch: batchSize,
    n_ubatch: Math.min(options.microBatchSize, batchSize),
    n_seq_max: options.sequences,
    kv_unified: false,
    n_outputs_max_per_seq: 1,
    n_threads: options.threads,
    n_threads_batch: options.batchThreads,
    flash_attn_type: options.flashAttention ? -1 : 0,
    offload_kqv: options.offloadCache,
    no_perf: true,
    // Going back a few tokens must always find what stood before them.
    swa_full: true,
  };
}

/** What the draft model will take of the graphics memory, at least. */
export function draftBytes({ draft }: Pick<LoadOptions, 'draft'>): number {
  return draft?.model && draft.model.gpuLayers > 0 ? statSync(draft.model.path).size : 0;
}

/** What must be alike in two vocabularies for the guesses of one model to mean anything to the other. */
interface TokenTexts {
  readonly size: number;
  bytes(token: number, renderSpecial: boolean): Uint8Array;
}

/** Sizes of one family differ by a little padding behind the last real token. */
const padding = 128;
const samples = 512;

/** Undefined where the two agree, and otherwise a sentence about where they part. */
export function disagreement(model: TokenTexts, draft: TokenTexts): string | undefined {
  if (Math.abs(model.size - draft.size) > padding) {
    return `it has ${draft.size} tokens and the model has ${model.size}`;
  }
  const common = Math.min(model.size, draft.size) - (model.size === draft.size ? 0 : padding);
  const step = Math.max(1, Math.floor(common / samples));
  for (let token = 0; token < common; token += step) {
    const [theirs, ours] = [draft, model].map((one) => Buffer.from(one.bytes(token, true)).toString());
    if (theirs !== ours) return `token ${token} is ${JSON.stringify(theirs)} there and ${JSON.stringify(ours)} here`;
  }
  return undefined;
}

/** Proposes up to `most` tokens that may follow the first `length` of `tokens`. */
export type Drafter = (tokens: Int32Array, length: number, most: number) => Int32Array;

interface DrafterParts {
  readonly options: Pick<LoadOptions, 'draft' | 'deterministic'>;
  readonly context: Pick<Context, 'memory'>;
  readonly draft: DraftModel | undefined;
}

/**
 * Speculative decoding as the options ask for it, where rejected tokens can be removed from the KV cache: prompt lookup
 * first, then the draft model. The draft model is not used with a grammar, which it does not follow.
 */
export function drafter(
  { options, context, draft: model }: DrafterParts,
  { grammar }: Pick<GenerationRequest, 'grammar'>,
  sequence: number,
): Drafter | undefined {
  const { draft, deterministic } = options;
  const guesser = grammar ? undefined : model;
  // A batch of several tokens rounds differently from single tokens.
  if (deterministic) return undefined;
  if (!draft || context.memory === 'state' || (draft.pattern <= 0 && !guesser)) return undefined;
  return (tokens, length, most) => {
    const count = Math.min(most, draft.amount);
    const found = draft.pattern > 0 ? lookupDraft(tokens, length, draft.pattern, count) : nothing;
    return found.length > 0 || !guesser ? found : guesser.propose(sequence, tokens, length, count);
  };
}

/**
 * Prompt lookup decoding: finds the latest earlier occurrence of the last `pattern` tokens and proposes what followed it.
 * Helps texts that repeat themselves (code, summaries, JSON).
 */
export function lookupDraft(tokens: Int32Array, length: number, pattern: number, most: number): Int32Array {
  const start = length - pattern;
  if (start <= 0 || most <= 0) return tokens.subarray(0, 0);
  for (let place = start - 1; place >= 0; place -= 1) {
    if (!matches(tokens, place, start, pattern)) continue;
    const from = place + pattern;
    return tokens.subarray(from, Math.min(from + most, length));
  }
  return tokens.subarray(0, 0);
}

function matches(tokens: Int32Array, place: number, start: number, pattern: number): boolean {
  for (let offset = pattern - 1; offset >= 0; offset -= 1) {
    if (tokens[place + offset] !== tokens[start + offset]) return false;
  }
  return true;
}
