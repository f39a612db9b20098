import { basename } from 'node:path';
import type { GenerationRequest } from '../../../core/request.ts';
import { type LoadedModel, type LoadOptions, readModelFile } from '../load-options.ts';
import { DraftLength, type DraftRecord } from './draft-length.ts';
import { blockOfRows } from './fillers.ts';
import { Context, contextParams } from './memory/context.ts';
import { commonPrefix } from './memory/snapshot.ts';
import type { Native, Threadpools } from './native/native.ts';
import { type ProcessMemory, withUntouchedGivenBack } from './native/process-memory.ts';
import type { Pointer } from './native/structs.ts';
import { gpuDevices, loadWeights, NativeLoadError } from './native/weights.ts';
import { Vocabulary } from './text/vocabulary.ts';

interface DraftModelParts {
  readonly sequences: number;
  readonly context: Pick<Context, 'batchCapacity' | 'clearBatch' | 'add' | 'decodeNow' | 'logits' | 'forget'>;
  readonly contextSize: number;
  /** Both models have the tokens below this. */
  readonly sharedTokens: number;
  readonly isEnd: (token: number) => boolean;
}

const nothing = new Int32Array(0);

/** The draft model's sequence for one text. */
interface Followed {
  readonly sequence: number;
  readonly tokens: Int32Array;
  computed: number;
}

/** A small model that drafts for a large one. Each text has its own sequence, rewound only as far as it changed. */
export class DraftModel {
  readonly #followed: readonly Followed[];

  constructor(private readonly parts: DraftModelParts) {
    this.#followed = Array.from({ length: parts.sequences }, (_, sequence) => {
      return { sequence, tokens: new Int32Array(parts.contextSize), computed: 0 };
    });
  }

  /** Up to `most` tokens once it has read the text: one batch per call, so that a long prompt delays nothing. */
  propose(sequence: number, tokens: Int32Array, length: number, most: number): Int32Array {
    const count = Math.min(most, this.parts.contextSize - length);
    const followed = this.#followed[sequence];
    if (!followed || count <= 0 || length === 0) return nothing;
    const text = tokens.subarray(0, length);
    const cached = followed.tokens.subarray(0, followed.computed);
    // The last token is always computed again: its logits are gone.
    this.#keep(followed, Math.min(commonPrefix(cached, text), length - 1));
    const { computed } = followed;
    let place = this.#read(followed, text.subarray(computed, computed + this.parts.context.batchCapacity));
    if (place === undefined || followed.computed < length) return nothing;
    const guesses: number[] = [];
    for (;;) {
      const token = likeliest(this.parts.context.logits(place), this.parts.sharedTokens);
      if (this.parts.isEnd(token)) break;
      guesses.push(token);
      if (guesses.length >= count) break;
      place = this.#read(followed, Int32Array.of(token));
      if (place === undefined) break;
    }
    return Int32Array.from(guesses);
  }

  /** Computes tokens; returns the index of the last logits, or undefined if that is not possible. */
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
  /** Of the model that is drafted for. */
  readonly context: Pick<Context, 'memory'>;
  readonly contextSize: number;
  readonly threadpools: Threadpools;
  readonly memory: ProcessMemory | undefined;
  readonly notes: string[];
}

/** The model of `--draftmodel`; undefined without one. Throws a sentence if it cannot be used. */
export async function openDraft(surroundings: DraftSurroundings): Promise<DraftModel | undefined> {
  const { native, options, vocabulary, contextSize, threadpools, memory, notes } = surroundings;
  const { draft, sequences } = options;
  if (!draft || options.deterministic) return undefined;
  if (surroundings.context.memory === 'state') {
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
  // Rewinding a few tokens must always find what was before them.
  const shared = contextParams(native, options, contextSize, sequences);
  const params = { ...shared, n_outputs_max_per_seq: 1, swa_full: true };
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
  return new DraftModel({ context, sequences, contextSize, sharedTokens, isEnd: (token) => vocabulary.isEnd(token) });
}

/** Of the options for the large model's weights, only the load mode applies. */
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

/** Vocabularies of one family may differ in the padding after the last real token. */
const padding = 128;
const samples = 512;

/** How two vocabularies differ, as a sentence; undefined if they agree. */
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

export interface Drafter {
  /** Proposes up to `most` tokens that may follow the first `length` of `tokens`, in a step with so many texts. */
  propose(tokens: Int32Array, length: number, most: number, streams: number): Int32Array;
  /** So many tokens of the last proposal were right and wrong. */
  result(right: number, wrong: number): void;
}

interface DrafterParts {
  readonly options: Pick<LoadOptions, 'draft' | 'deterministic'>;
  readonly context: Pick<Context, 'memory'>;
  readonly draft: DraftModel | undefined;
  readonly draftRecord: DraftRecord;
  readonly info: Pick<LoadedModel, 'gpuLayers'>;
}

/** Speculative decoding, if the cache can be rewound: prompt lookup first, then the draft model, which does not follow a grammar. */
export function drafter(
  { options, context, draft: model, draftRecord, info }: DrafterParts,
  { grammar }: Pick<GenerationRequest, 'grammar'>,
  sequence: number,
): Drafter | undefined {
  const { draft, deterministic } = options;
  const guesser = grammar ? undefined : model;
  // A batch of several tokens rounds differently from single tokens.
  if (deterministic) return undefined;
  if (!draft || context.memory === 'state' || (draft.pattern <= 0 && !guesser)) return undefined;
  const next = new DraftLength(draft.amount, draftRecord, info.gpuLayers > 0 ? 1 : blockOfRows);
  return {
    propose: (tokens, length, most, streams) => {
      const count = Math.min(most, next.next(streams));
      if (count === 0) return nothing;
      const found = draft.pattern > 0 ? lookupDraft(tokens, length, draft.pattern, count) : nothing;
      return found.length > 0 || !guesser ? found : guesser.propose(sequence, tokens, length, count);
    },
    result: (right, wrong) => next.result(right, wrong),
  };
}

/** Prompt lookup decoding: proposes what followed the latest earlier occurrence of the last `pattern` tokens. */
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
