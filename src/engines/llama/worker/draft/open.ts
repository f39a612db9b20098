import { statSync } from 'node:fs';
import { basename } from 'node:path';
import type { LoadOptions } from '../../load-options.ts';
import { readModelFile } from '../../model-file.ts';
import { Context } from '../memory/context.ts';
import type { Native } from '../native/native.ts';
import type { Pointer } from '../native/structs.ts';
import type { Threadpools } from '../native/threadpool.ts';
import { type ProcessMemory, withUntouchedGivenBack } from '../native/untouched-memory.ts';
import { gpuDevices, loadWeights, UnexplainedFailure } from '../native/weights.ts';
import { Vocabulary } from '../text/vocabulary.ts';
import { DraftModel } from './model.ts';

export interface DraftSurroundings {
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
    const why = error instanceof UnexplainedFailure ? 'the engine refuses it' : (error as Error).message;
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
