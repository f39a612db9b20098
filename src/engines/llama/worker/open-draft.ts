import { basename } from 'node:path';
import { isSupportedArchitecture } from '../../../gguf/architectures.ts';
import { hasTensor, type LoadOptions, readModelFile } from '../load-options.ts';
import { DraftModel } from './draft.ts';
import { Context, contextParams, contextTypes } from './memory/context.ts';
import type { Native, Threadpools } from './native/native.ts';
import { type ProcessMemory, withUntouchedGivenBack } from './native/process-memory.ts';
import type { ContextParams, Pointer } from './native/structs.ts';
import { gpuDevices, loadWeights, NativeLoadError } from './native/weights.ts';
import { PredictionLayers } from './prediction-layers.ts';
import { Vocabulary } from './text/vocabulary.ts';

type Draft = NonNullable<LoadOptions['draft']>;

/**
 * Architectures whose layers for multi-token prediction the pinned llama.cpp computes, and whether a file may have several of them: the
 * library ends the process for others. `npm run engine:check` compares them with its source.
 */
export const predictionArchitectures: ReadonlyMap<string, 'one' | 'several'> = new Map([
  ...['cohere2moe', 'deepseek2', 'deepseek32', 'glm-dsa', 'glm4moe'].map((name) => [name, 'one'] as const),
  ...['hy_v3', 'mimo2', 'step35'].map((name) => [name, 'several'] as const),
]);

/** The library predicts with the layers of these too, but their memory cannot be rewound to any token. */
export const notRewound: ReadonlySet<string> = new Set(
  'bailingmoe3 deepseek4 nemotron_h_moe qwen35 qwen35moe qwen3next'.split(' '),
);

/** The options for drafts without layers for multi-token prediction where those cannot be used; a note says why. */
export async function withUsablePrediction(options: LoadOptions, version: string, notes: string[]) {
  const { draft } = options;
  if (!draft?.prediction) return options;
  const problem = await predictionProblem(options, draft, version);
  if (problem === undefined) return options;
  const rest = draft.model ? 'It drafts as a plain draft model.' : '--usemtp has no effect.';
  notes.push(`${problem} ${rest}`);
  const isIdle = draft.pattern <= 0 && !draft.model;
  return { ...options, draft: isIdle ? undefined : { ...draft, prediction: false } };
}

async function predictionProblem(options: LoadOptions, { model }: Draft, version: string): Promise<string | undefined> {
  if (options.deterministic) return '--deterministic drafts nothing.';
  if (options.projector)
    return 'With --mmproj another library is used, which is not asked for multi-token predictions.';
  const path = model?.path ?? options.model;
  // A file that cannot be read is reported when it is loaded.
  const shape = model ? (await readModelFile(path).catch(() => undefined))?.shape : options.shape;
  const file = model ? basename(path) : 'The model';
  const { prediction, architecture = '', layers = 0 } = shape ?? {};
  if (!prediction) return `${file} has no layers for multi-token prediction.`;
  if (notRewound.has(architecture)) {
    return `The memory of models of the architecture ${architecture} cannot take guesses back.`;
  }
  const supported = predictionArchitectures.get(architecture);
  if (!supported) return `llama.cpp ${version} does not predict with the layers of the architecture ${architecture}.`;
  if (model && architecture !== options.shape.architecture) {
    return `${file} has the architecture ${architecture}, the model ${options.shape.architecture}.`;
  }
  if (prediction.layers > 1 && supported === 'one') {
    return `llama.cpp ${version} predicts with one layer of ${architecture}, and ${file} has ${prediction.layers}.`;
  }
  const first = `blk.${layers - prediction.layers}.nextn.eh_proj.weight`;
  if (await hasTensor(path, first).catch(() => true)) return undefined;
  return `${file} was made without its layers for multi-token prediction (${first} is missing).`;
}

interface DraftDeps {
  readonly native: Native;
  readonly options: LoadOptions;
  readonly vocabulary: Vocabulary;
  /** The main model and its context. */
  readonly model: Pointer;
  readonly context: Pick<Context, 'memory' | 'pointer' | 'keepStates'>;
  readonly contextSize: number;
  readonly threadpools: Threadpools;
  readonly memory: ProcessMemory | undefined;
  readonly notes: string[];
}

/** The model of `--draftmodel`, or layers for multi-token prediction; undefined without. Throws a sentence if the file cannot be used. */
export async function openDraft(deps: DraftDeps): Promise<DraftModel | undefined> {
  const { native, options, vocabulary, contextSize, threadpools, memory, notes } = deps;
  const { draft, sequences } = options;
  if (!draft || options.deterministic) return undefined;
  if (deps.context.memory === 'state') {
    notes.push('This kind of model cannot take guesses back: drafting has no effect.');
    return undefined;
  }
  if (!draft.model) return draft.prediction ? openLayers(deps, deps.model, vocabulary) : undefined;
  const { path } = draft.model;
  const model = await draftWeights(native, options, { ...draft.model, prediction: draft.prediction });
  const isState = native.modelIsRecurrent(model) || native.modelIsHybrid(model);
  if (!draft.prediction && (isState || !native.modelHasDecoder(model))) {
    throw new Error(`the draft model ${path} is of a kind that cannot take guesses back; use a plain transformer`);
  }
  const draftVocabulary = new Vocabulary(native, native.modelVocabulary(model), options);
  const reason = disagreement(vocabulary, draftVocabulary);
  if (reason) throw new Error(`the draft model ${path} does not have the vocabulary of the model: ${reason}`);
  if (draft.prediction) return openLayers(deps, model, draftVocabulary);
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

/** Layers of the model itself, or of `model`, which has nothing else. */
function openLayers(deps: DraftDeps, model: Pointer, { size }: Vocabulary): PredictionLayers {
  const { native, options, vocabulary, contextSize, threadpools, memory, notes } = deps;
  const { sequences, draft } = options;
  const width = native.modelOutputWidth(model);
  if (width !== native.modelOutputWidth(deps.model)) {
    throw new Error('the hidden states of the draft model have another width than those of the model');
  }
  const params: ContextParams = {
    ...contextParams(native, options, contextSize, sequences),
    ctx_type: contextTypes.mtp,
    ctx_other: deps.context.pointer,
    n_outputs_max_per_seq: 1,
    swa_full: true,
  };
  const context = withUntouchedGivenBack(memory, () => new Context(native, model, params, size, { input: width }));
  threadpools.attach(context.pointer);
  context.keepStates('outputs', width);
  deps.context.keepStates('outputs', width);
  const source = draft?.model ? basename(draft.model.path) : 'The layer for multi-token prediction';
  notes.push(`${source} drafts up to ${draft?.amount ?? 0} tokens at each step.`);
  const sharedTokens = Math.min(vocabulary.size, size);
  const isEnd = (token: number) => vocabulary.isEnd(token);
  return new PredictionLayers({ context, sequences, contextSize, sharedTokens, isEnd, width });
}

/** Of the options for the main model's weights, only the load mode applies. */
async function draftWeights(
  native: Native,
  options: LoadOptions,
  { path, gpuLayers, prediction }: NonNullable<Draft['model']> & Pick<Draft, 'prediction'>,
): Promise<Pointer> {
  const own = { ...options, model: path, gpuLayers, tensorSplit: [], metadataOverrides: [], tensorOverrides: [] };
  try {
    const { architecture } = (await readModelFile(path)).shape;
    if (!isSupportedArchitecture(architecture)) throw new Error(`heads of the kind ${architecture} cannot draft here`);
    const gpus = gpuDevices(native, own);
    return await loadWeights(native, { ...own, prediction }, gpus, gpus.length === 0 ? 0 : gpuLayers, () => {});
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
