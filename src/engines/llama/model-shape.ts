import { type GgufHeader, numberOf } from '../../gguf/gguf.ts';

/** What the memory and the speed of a model depend on, as the header of its file says it. */
export interface ModelShape {
  readonly architecture: string;
  readonly layers: number;
  /** 0 if the file does not say it. */
  readonly trainedContext: number;
  readonly sizeBytes: number;
  /** KV cache of a token at 16 bits, in all layers that see the whole context. */
  readonly cacheBytesPerToken: number;
  /** The same of the layers that see only a window. */
  readonly window?: { readonly bytesPerToken: number; readonly tokens: number } | undefined;
  /** State of the recurrent layers, of one sequence. */
  readonly stateBytes?: number;
  /** Weights that stay in main memory even if all layers are on GPUs. */
  readonly hostBytes?: number;
  /** Weights that are read to compute a token; fewer than all with experts. */
  readonly activeBytes?: number;
  readonly compute?: ComputeShape;
  /** Layers for multi-token prediction at the end of `layers`, and what a context for them has in its cache of a token. */
  readonly prediction?: { readonly layers: number; readonly cacheBytesPerToken: number } | undefined;
}

/** Values of 32 bits that compute buffers hold for each token of a batch. Their memory is reused from phase to phase. */
interface ComputeShape {
  readonly output: number;
  readonly layer: number;
  /** Without flash attention, besides a value for each head and cell. */
  readonly attention: number;
  readonly heads: number;
}

/** Types of cached values: their number in the library, and their size relative to 16 bits. */
export const cacheTypes = {
  f16: { id: 1, size: 1 },
  bf16: { id: 30, size: 1 },
  q8_0: { id: 8, size: 34 / 64 },
  q5_1: { id: 7, size: 24 / 64 },
  q4_0: { id: 2, size: 18 / 64 },
} as const;

export interface MemoryOptions {
  /** Of one sequence. */
  readonly contextSize: number;
  readonly sequences: number;
  readonly microBatchSize: number;
  readonly cacheType: keyof typeof cacheTypes;
  readonly flashAttention: boolean;
  readonly fullSlidingWindow: boolean;
  /** All sequences share one pool of cells (see `poolCells`), of this size if it is above 0. */
  readonly shared?: boolean;
  readonly cellPool?: number;
}

/** Those of a server without flags. */
export const defaultMemory = {
  sequences: 1,
  microBatchSize: 512,
  cacheType: 'f16',
  flashAttention: true,
  fullSlidingWindow: false,
} as const satisfies Partial<MemoryOptions>;

/** The memory that llama.cpp allocates for a model: weights, KV cache with states, and compute buffers. Measured in docs/models.md. */
export function modelMemory(shape: ModelMemoryShape, options: MemoryOptions) {
  const [weights, cache, compute] = [shape.sizeBytes, cacheBytes(shape, options), computeBytes(shape, options)];
  return { weightBytes: weights, cacheBytes: cache, computeBytes: compute, totalBytes: weights + cache + compute };
}

type ModelMemoryShape = Pick<ModelShape, 'sizeBytes' | 'cacheBytesPerToken' | 'window' | 'stateBytes' | 'compute'>;

const cellStep = 256;
/** The library loads no more; a damaged file may claim any number. */
const maxLayers = 512;
const padded = (tokens: number) => Math.ceil(tokens / cellStep) * cellStep;

/** Cells of each further sequence of a pool: enough for a side task or a sub-agent. */
const sideTokens = 4096;

/** The size of the pool: by default for one conversation of full length and shorter ones besides, not for a context of each. */
export function poolCells({ contextSize, sequences, cellPool = -1 }: PoolOptions): number {
  const size = cellPool > 0 ? cellPool : contextSize + (sequences - 1) * Math.min(contextSize, sideTokens);
  return padded(Math.max(contextSize, size));
}

type PoolOptions = Pick<MemoryOptions, 'contextSize' | 'sequences' | 'cellPool'>;

/** Of one buffer: that of a sequence, or the pool of all. */
function cellsOf({ window }: Pick<ModelShape, 'window'>, options: MemoryOptions) {
  const { contextSize, shared = false } = options;
  const whole = shared ? poolCells(options) : padded(contextSize);
  if (!window) return { whole, windowed: 0 };
  const batch = Math.min(options.microBatchSize, contextSize);
  const windows = window.tokens * (shared ? options.sequences : 1);
  return { whole, windowed: options.fullSlidingWindow ? whole : padded(Math.min(whole, windows + batch)) };
}

/** Without flash attention only keys are quantised. */
function cacheBytes(shape: ModelMemoryShape, options: MemoryOptions): number {
  const { cacheType, flashAttention, sequences, shared } = options;
  const { whole, windowed } = cellsOf(shape, options);
  const { size } = cacheTypes[cacheType];
  const cells = shape.cacheBytesPerToken * whole + (shape.window?.bytesPerToken ?? 0) * windowed;
  return (
    (shared ? 1 : sequences) * cells * (flashAttention ? size : (size + 1) / 2) + sequences * (shape.stateBytes ?? 0)
  );
}

/** The larger of two phases: the output, and a layer, which also needs the attention mask of the whole context. */
function computeBytes(shape: ModelMemoryShape, options: MemoryOptions): number {
  const { compute } = shape;
  if (!compute) return 0;
  const { whole, windowed } = cellsOf(shape, options);
  const layer = options.flashAttention
    ? compute.layer + (whole + windowed) / 2
    : Math.max(compute.layer, compute.attention + compute.heads * whole) + whole + windowed;
  return 4 * Math.min(options.microBatchSize, options.contextSize) * Math.max(compute.output, layer);
}

/** `weightBytes`: of all parts, where the header is that of the first part of a split model. */
export function modelShape(
  header: Pick<GgufHeader, 'architecture' | 'metadata' | 'tensors'>,
  weightBytes?: number,
): ModelShape {
  const facts = modelFacts(header);
  const { architecture, number, blocks } = facts;
  const ownBytes = header.tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  const sizeBytes = weightBytes ?? ownBytes;
  const scale = ownBytes > 0 ? sizeBytes / ownBytes : 0;
  return {
    architecture,
    layers: blocks,
    trainedContext: number('context_length') ?? 0,
    sizeBytes,
    ...cacheShape(facts),
    hostBytes: hostBytes(header) * scale,
    activeBytes: activeBytes(header, facts) * scale,
    compute: computeShape(header, facts),
    prediction: predictionShape(facts),
  };
}

type ModelFacts = ReturnType<typeof modelFacts>;

function modelFacts(header: Pick<GgufHeader, 'architecture' | 'metadata'>) {
  const { architecture, metadata } = header;
  const number = (name: string) => numberOf(header, `${architecture}.${name}`);
  /** A number of each layer, which a file has once or as a list. */
  const ofLayer = (name: string, layer: number): number | undefined => {
    const value = metadata.get(`${architecture}.${name}`)?.value;
    if (typeof value !== 'object') return number(name);
    const entry = value.values[layer];
    return typeof entry === 'boolean' ? Number(entry) : typeof entry === 'number' ? entry : undefined;
  };
  const blocks = Math.max(0, Math.min(number('block_count') ?? 0, maxLayers));
  const isList = (name: string) => typeof metadata.get(`${architecture}.${name}`)?.value === 'object';
  return { architecture, number, ofLayer, isList, blocks };
}

/** A recurrent model has no heads, and its cache does not grow with the sequence. */
function headShape({ number, ofLayer }: ModelFacts, layer: number, windowed: boolean) {
  const heads = ofLayer('attention.head_count', layer) ?? 0;
  const keyHeads = ofLayer('attention.head_count_kv', layer) ?? heads;
  const ownShare = heads > 0 ? (number('embedding_length') ?? 0) / heads : 0;
  const ending = windowed ? '_swa' : '';
  const length = (name: string) =>
    number(`attention.${name}_length${ending}`) ?? number(`attention.${name}_length`) ?? ownShare;
  return { heads, keyHeads, keys: length('key'), values: length('value') };
}

function cacheShape(facts: ModelFacts): Pick<ModelShape, 'cacheBytesPerToken' | 'window' | 'stateBytes'> {
  const { number } = facts;
  const window = windowOf(facts);
  // One compressed key for all heads, and no values.
  const isLatent = (number('attention.key_length_mla') ?? 0) > 0 && (number('attention.value_length_mla') ?? 0) > 0;
  const indexer = number('attention.indexer.key_length') ?? 0;
  const state = stateBytesPerLayer(facts);
  let [whole, windowed, stateBytes] = [0, 0, 0];
  for (let layer = 0; layer < cachedLayers(facts); layer += 1) {
    const isRecurrent = state > 0 && recurs(facts, layer);
    if (isRecurrent) stateBytes += state;
    if ((isRecurrent && !attendsEverywhere.has(facts.architecture)) || cacheless.has(facts.architecture)) continue;
    const isWindowed = window?.covers(layer) ?? false;
    const { keyHeads, keys, values } = headShape(facts, layer, isWindowed);
    const bytes = 2 * (keyHeads * (keys + (isLatent ? 0 : values)) + indexer);
    if (isWindowed) windowed += bytes;
    else whole += bytes;
  }
  return {
    cacheBytesPerToken: whole,
    stateBytes,
    ...(windowed > 0 && window && { window: { bytesPerToken: windowed, tokens: window.tokens } }),
  };
}

/** The library gives a context for these layers a cache of all layers where it does not leave out the others. */
const cachesAllForPrediction = new Set(['cohere2moe', 'deepseek2', 'glm4moe']);

function predictionShape(facts: ModelFacts): ModelShape['prediction'] {
  const { architecture, number, blocks } = facts;
  const layers = Math.min(number('nextn_predict_layers') ?? 0, blocks);
  if (layers === 0) return undefined;
  const { keyHeads, keys, values } = headShape(facts, blocks - 1, false);
  const isLatent = (number('attention.key_length_mla') ?? 0) > 0;
  const bytes = 2 * keyHeads * (keys + (isLatent ? 0 : values));
  return { layers, cacheBytesPerToken: bytes * (cachesAllForPrediction.has(architecture) ? blocks : layers) };
}

/** Encoders, and models that write all tokens at once. */
const cacheless = new Set(
  'bert modern-bert nomic-bert nomic-bert-moe neo-bert jina-bert-v2 jina-bert-v3 eurobert gemma-embedding dream llada llada-moe rnd1'.split(
    ' ',
  ),
);

/** The last layers may use the cache of others, or be there for drafts only. */
function cachedLayers({ architecture, number, blocks }: ModelFacts): number {
  const layers = blocks - (number('nextn_predict_layers') ?? 0);
  const own = architecture === 'gemma3n' ? 20 : layers - (number('attention.shared_kv_layers') ?? 0);
  return Math.max(0, Math.min(layers, own));
}

/** Every how many layers one sees the whole context; negative where that is the first of them and not the last. */
const windowPeriods: Readonly<Record<string, number>> = {
  gemma2: 2,
  gemma3: 6,
  gemma3n: 5,
  'gpt-oss': 2,
  cohere2: 4,
  cohere2moe: -4,
  exaone4: 4,
  'exaone-moe': 4,
  olmo2: 4,
  llama4: 4,
  afmoe: 4,
  mellum: 4,
  'muse-glimmer': 4,
  plamo3: 8,
  laguna: -4,
  smallthinker: -4,
  lfm2: 0,
};
/** Where the file does not say it. */
const windowTokens: Readonly<Record<string, number>> = { gemma2: 4096, llama4: 8192, 'exaone-moe': 128 };

function windowOf(facts: ModelFacts) {
  const { architecture, number, ofLayer, isList } = facts;
  const pattern = 'attention.sliding_window_pattern';
  const period = windowPeriods[architecture];
  // Many other files name a window that the library does not use.
  if (period === undefined && !isList(pattern)) return undefined;
  const tokens = number('attention.sliding_window') ?? windowTokens[architecture] ?? 0;
  if (tokens === 0) return undefined;
  if (isList(pattern)) return { tokens, covers: (layer: number) => ofLayer(pattern, layer) === 1 };
  const every = number(pattern) ?? Math.abs(period ?? 0);
  const first = (period ?? 0) < 0;
  const isWhole = (layer: number) => every > 0 && layer % every === (first ? 0 : every - 1);
  return { tokens: architecture === 'llama4' ? 8192 : tokens, covers: (layer: number) => !isWhole(layer) };
}

const alwaysRecurrent = new Set(['mamba', 'mamba2', 'rwkv6', 'rwkv6qwen2', 'rwkv7', 'arwkv7', 'falcon-h1']);
/** Each layer has both a state and a cache. */
const attendsEverywhere = new Set(['falcon-h1']);
/** Every how many layers one has attention, where the file does not say it. */
const attentionIntervals: Readonly<Record<string, number>> = { qwen3next: 4, qwen35: 4, qwen35moe: 4, 'minimax-01': 8 };

function recurs({ architecture, number, ofLayer, isList }: ModelFacts, layer: number): boolean {
  if (alwaysRecurrent.has(architecture)) return true;
  if (isList('attention.recurrent_layers')) return ofLayer('attention.recurrent_layers', layer) === 1;
  const interval = attentionIntervals[architecture];
  if (interval !== undefined) return (layer + 1) % (number('full_attention_interval') ?? interval) !== 0;
  // Layers of Nemotron are attention, a state or a feed-forward network.
  if (architecture.startsWith('nemotron_h') && ofLayer('feed_forward_length', layer) !== 0) return false;
  return ofLayer('attention.head_count_kv', layer) === 0;
}

/** 32-bit values of the convolution and of the state. */
function stateBytesPerLayer({ number, ofLayer }: ModelFacts): number {
  const fact = (name: string) => number(name) ?? 0;
  const width = fact('embedding_length');
  const heads = ofLayer('attention.head_count', 0) ?? 0;
  const wkv = fact('wkv.head_size');
  if (wkv > 0) return 4 * width * ((number('token_shift_count') ?? 2) + wkv);
  if (fact('shortconv.l_cache') > 0) return 4 * width * (fact('shortconv.l_cache') - 1);
  const kernel = fact('ssm.conv_kernel');
  const head = fact('kda.head_dim');
  if (head > 0) return 4 * heads * head * (3 * (kernel > 0 ? kernel - 1 : 3) + head);
  const [inner, state, groups] = [fact('ssm.inner_size'), fact('ssm.state_size'), fact('ssm.group_count')];
  return 4 * (state * inner + Math.max(0, kernel - 1) * (inner + 2 * groups * state));
}

/** The embeddings of the input, unless they are also the output matrix, which then is on both sides. */
function hostBytes({ tensors }: Pick<GgufHeader, 'tensors'>): number {
  const bytesOf = (name: string) => tensors.find((tensor) => tensor.name === name)?.bytes ?? 0;
  const tied = bytesOf('output.weight') === 0;
  return bytesOf('per_layer_token_embd.weight') + (tied ? 0 : bytesOf('token_embd.weight'));
}

/** A row of the input embeddings is nearly nothing. */
function activeBytes(header: Pick<GgufHeader, 'tensors'>, { number }: ModelFacts): number {
  const experts = number('expert_count') ?? 0;
  const share = experts > 0 ? (number('expert_used_count') ?? experts) / experts : 1;
  let bytes = -hostBytes(header);
  for (const tensor of header.tensors) bytes += tensor.bytes * (/_(ch)?exps\./.test(tensor.name) ? share : 1);
  return Math.max(0, bytes);
}

/** As measured with llama.cpp: about how many rows of the width of the model its allocator needs. */
function computeShape({ metadata }: Pick<GgufHeader, 'metadata'>, facts: ModelFacts): ComputeShape {
  const { architecture, number, blocks } = facts;
  const tokens = metadata.get('tokenizer.ggml.tokens')?.value;
  const vocabulary = typeof tokens === 'object' ? tokens.length : (number('vocab_size') ?? 0);
  const width = number('embedding_length') ?? 0;
  const layers = Array.from({ length: blocks }, (_, layer) => headShape(facts, layer, false));
  const { heads, keyHeads, keys } = layers.reduce(
    (a, b) => (b.keyHeads > a.keyHeads ? b : a),
    headShape(facts, 0, false),
  );
  const hidden = Math.max(0, ...layers.map((_, layer) => facts.ofLayer('feed_forward_length', layer) ?? 0));
  const shared = (number('expert_shared_count') ?? 0) + (number('expert_used_count') ?? 0);
  const active = Math.max(hidden, shared * (number('expert_feed_forward_length') ?? 0));
  const queries = heads * keys;
  const latent = (number('attention.key_length_mla') ?? 0) > 0 ? queries + 3 * width : 0;
  return {
    output: (cacheless.has(architecture) ? 0 : vocabulary) + 2 * width + latent,
    layer: 4 * width + 3 * active,
    attention: 3 * width + 2 * queries + 2 * keyHeads * keys,
    heads,
  };
}
