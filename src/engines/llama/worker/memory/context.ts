import type { LoadOptions } from '../../load-options.ts';
import type { MediumChunk } from '../media/media-prompt.ts';
import type { Projector } from '../media/projector.ts';
import type { Native, NativePrediction } from '../native/native.ts';
import type { Batch, ContextParams, Pointer } from '../native/structs.ts';

export type DecodeResult = 'ok' | 'no-room' | 'aborted' | 'failed';

/** How far a KV cache can be rewound: `plain` to any token, `window` within its spare cells, a recurrent `state` not at all. */
export type MemoryKind = 'plain' | 'window' | 'state';

/** Flags of the library: the whole state of a sequence, or only the parts that cannot be rewound. */
export const stateFlags = { whole: 0, part: 1 };
export type StateKind = keyof typeof stateFlags;

/** A context computes the model itself, or its layers for multi-token prediction. */
export const contextTypes = { default: 0, mtp: 1 };

/** `input`: the values of the vector that each token of a batch has besides its id; 0 for none. */
interface ContextExtras {
  readonly projector?: Projector | undefined;
  readonly input?: number;
}

/** One llama.cpp context: the batch that is being filled, its KV cache, and the logits of the last decode. */
export class Context {
  readonly batchCapacity: number;
  readonly canShift: boolean;
  readonly memory: MemoryKind;
  /** Whether a saved state has every cell; with a window it has only those that the next token attends to, even with `swa_full`. */
  readonly savesAll: boolean;
  /** The cells that all sequences share; undefined if each has its own. */
  readonly pool: number | undefined;
  /** How many tokens of a prompt it can rewind without a checkpoint, even after a reply of that length. */
  readonly spare: number;
  readonly #window: number;
  readonly #memory: Pointer;
  readonly #batch: Batch;
  readonly #tokens: Int32Array;
  readonly #positions: Int32Array;
  readonly #sequences: readonly Int32Array[];
  readonly #needsLogits: Int8Array;
  readonly #abortCell: BigInt64Array;
  /** The library reuses its output buffer, so there are few addresses; creating a view is expensive. */
  readonly #views = new Map<Pointer, Float32Array>();
  /** For multi-token prediction: hidden states as output, and as input of the batch. */
  #prediction: { readonly calls: NativePrediction; readonly width: number } | undefined;
  readonly #stateViews = new Map<Pointer, Float32Array>();
  readonly #inputs: Float32Array | undefined;
  readonly pointer: Pointer;
  /** Tokens in the batch. */
  size = 0;
  #decoding = false;

  constructor(
    private readonly native: Native,
    model: Pointer,
    params: ContextParams,
    private readonly vocabularySize: number,
    private readonly extras: ContextExtras = {},
  ) {
    const cell = native.alloc(512);
    this.#abortCell = new BigInt64Array(native.view(cell, 512)).fill(1n);
    const abort = { abort_callback: native.isEmpty, abort_callback_data: cell };
    const pointer = native.contextNew(model, { ...params, ...abort });
    if (!pointer) throw new Error('the context could not be made (not enough memory for this context size?)');
    this.pointer = pointer;
    this.#memory = native.memory(pointer);
    const window = native.modelWindow(model);
    const isState = native.modelIsRecurrent(model) || native.modelIsHybrid(model);
    this.memory = isState ? 'state' : window > 0 && !params.swa_full ? 'window' : 'plain';
    this.savesAll = window === 0;
    // A recurrent state holds one position: that of the last token.
    this.#window = isState ? 2 : window;
    this.pool = params.kv_unified ? params.n_ctx : undefined;
    // The library allocates one more micro-batch of cells for a window, or for all windows of a pool.
    this.spare = { plain: params.n_ctx, window: params.kv_unified ? 0 : params.n_ubatch >> 1, state: 0 }[this.memory];
    // In a pool, moving a cell would move it for every sequence that shares it.
    this.canShift = this.memory === 'plain' && !params.kv_unified && native.memoryCanShift(this.#memory);
    // The library lowers n_batch to n_ctx, and more tokens than that in a batch abort the process.
    this.batchCapacity = Math.min(params.n_batch, params.n_ctx);
    const count = this.batchCapacity;
    const { input = 0 } = extras;
    const batch = native.batchNew(count, input, 1);
    // The library allocates ids or vectors.
    this.#batch = input > 0 ? { ...batch, token: native.alloc(count * 4) } : batch;
    this.#inputs = batch.embd ? new Float32Array(native.view(batch.embd, count * input * 4)) : undefined;
    this.#tokens = new Int32Array(native.view(this.#batch.token, count * 4));
    this.#positions = new Int32Array(native.view(this.#batch.pos, count * 4));
    new Int32Array(native.view(this.#batch.n_seq_id, count * 4)).fill(1);
    const lists = new BigInt64Array(native.view(this.#batch.seq_id, count * 8));
    this.#sequences = Array.from(lists, (list) => new Int32Array(native.view(list, 4)));
    this.#needsLogits = new Int8Array(native.view(this.#batch.logits, count));
  }

  clearBatch(): void {
    this.size = 0;
  }

  /** Returns the row in the batch, for `logits`. */
  add(token: number, position: number, sequence: number, needsLogits: boolean): number {
    const row = this.size;
    this.size += 1;
    this.#tokens[row] = token;
    this.#positions[row] = position;
    (this.#sequences[row] as Int32Array)[0] = sequence;
    this.#needsLogits[row] = needsLogits ? 1 : 0;
    return row;
  }

  /** Sets the vector that a row of the batch has besides its token. */
  setInput(row: number, vector: Float32Array): void {
    this.#inputs?.set(vector, row * vector.length);
  }

  /** The hidden states of the next batch are kept: of all its tokens, or of those with logits. They have this width. */
  keepStates(of: 'all' | 'outputs', width: number): void {
    this.#prediction ??= { calls: this.native.prediction(), width };
    this.#prediction.calls.setStates(this.pointer, true, of === 'outputs');
  }

  /** Whether the states of `all` tokens are in another order than the batch, if that has several sequences. */
  get reordersStates(): boolean {
    return this.#prediction !== undefined && (this.pool === undefined || this.memory !== 'plain');
  }

  /** The hidden state of a row; the next decode overwrites it. */
  hiddenState(row: number): Float32Array {
    const prediction = this.#prediction;
    const [base, address] = prediction
      ? [prediction.calls.states(this.pointer), prediction.calls.state(this.pointer, row)]
      : [null, null];
    if (!prediction || !base || !address) throw new Error('the engine has no hidden state for this token');
    const { width } = prediction;
    const known = this.#stateViews.get(base);
    const view = known ?? new Float32Array(this.native.view(base, this.batchCapacity * width * 4));
    if (!known) this.#stateViews.set(base, view);
    const start = Number(address - base) / 4;
    return view.subarray(start, start + width);
  }

  /** Blocks the event loop: right for small batches, which take less time than a thread switch. */
  decodeNow(): DecodeResult {
    this.#batch.n_tokens = this.size;
    return decodeResult(this.native.decodeNow(this.pointer, this.#batch));
  }

  decode(): Promise<DecodeResult> {
    this.#batch.n_tokens = this.size;
    return this.#abortable(this.native.decode(this.pointer, this.#batch));
  }

  /** Computes an image or audio chunk, outside of any batch, from this position on. */
  decodeMedium(chunk: MediumChunk, position: number, sequence: number): Promise<DecodeResult> {
    const { projector } = this.extras;
    if (!projector) throw new Error('there is no projector');
    return this.#abortable(projector.decode(this.pointer, chunk, position, sequence));
  }

  async #abortable(running: Promise<number>): Promise<DecodeResult> {
    this.#decoding = true;
    try {
      return decodeResult(await running);
    } finally {
      this.#decoding = false;
      this.#abortCell.fill(1n);
    }
  }

  /** Ends a running `decode` early: on the CPU within milliseconds; a GPU finishes it. */
  abortDecode(): void {
    if (this.#decoding) this.#abortCell.fill(0n);
  }

  /** Waits until the batch is computed: on a GPU, `decodeNow` only enqueues it. */
  synchronize(): void {
    this.native.synchronize(this.pointer);
  }

  /** Where the logits are in the library's buffer. */
  logitsAddress(row: number): Pointer {
    const pointer = this.native.logits(this.pointer, row);
    if (!pointer) throw new Error('the engine has no logits for this token');
    return pointer;
  }

  /** A view on the library's buffer; the next decode overwrites it. */
  logits(row: number): Float32Array {
    const pointer = this.logitsAddress(row);
    const known = this.#views.get(pointer);
    if (known) return known;
    const view = new Float32Array(this.native.view(pointer, this.vocabularySize * 4));
    this.#views.set(pointer, view);
    return view;
  }

  /** Removes a sequence from a position on; false if the memory cannot (recurrent models). */
  forget(sequence: number, from: number): boolean {
    return this.native.sequenceRemove(this.#memory, sequence, from, -1);
  }

  /** Whether a sequence can continue here after `forget`: the library does not check that all the next token attends to is cached. */
  reaches(sequence: number, position: number): boolean {
    if (this.#window === 0 || position === 0) return true;
    const first = this.native.sequenceFirst(this.#memory, sequence);
    const last = this.native.sequenceLast(this.#memory, sequence);
    return canContinueAt(position, { first, last, window: this.#window });
  }

  /** Copies a whole sequence over another one, which must be empty. */
  copy(from: number, to: number): void {
    this.native.sequenceCopy(this.#memory, from, to, -1, -1);
  }

  stateBytes(sequence: number, kind: StateKind): number {
    return Number(this.native.stateSize(this.pointer, sequence, stateFlags[kind]));
  }

  state(sequence: number, kind: StateKind): Uint8Array {
    const bytes = new Uint8Array(this.stateBytes(sequence, kind));
    const length = this.native.stateGet(this.pointer, bytes, bytes.length, sequence, stateFlags[kind]);
    return bytes.subarray(0, Number(length));
  }

  /** Restores a whole state into an empty sequence, or a part into an existing one; false if it does not fit. */
  restore(sequence: number, bytes: Uint8Array, kind: StateKind): boolean {
    return Number(this.native.stateSet(this.pointer, bytes, bytes.length, sequence, stateFlags[kind])) > 0;
  }

  /** Takes `count` tokens out at `from`, and moves the rest of the sequence down over the gap. */
  shift(sequence: number, from: number, count: number, end: number): boolean {
    if (!this.native.sequenceRemove(this.#memory, sequence, from, from + count)) return false;
    this.native.sequenceMove(this.#memory, sequence, from + count, end, -count);
    return true;
  }
}

/** Whether everything is cached that a token at `position` attends to. Without tokens after it, the library guarantees that. */
export function canContinueAt(
  position: number,
  { first, last, window }: { readonly first: number; readonly last: number; readonly window: number },
): boolean {
  return last < position || first <= Math.max(0, position - window + 1);
}

function decodeResult(code: number): DecodeResult {
  if (code === 0) return 'ok';
  if (code === 1) return 'no-room';
  return code === 2 ? 'aborted' : 'failed';
}

/** Parameters that all contexts share. With a `pool` the sequences share that many cells, otherwise each has its own. */
export function contextParams(
  native: Native,
  options: LoadOptions,
  contextSize: number,
  sequences: number,
  pool?: number,
) {
  // Each sequence must be able to add a token to a batch.
  const batchSize = Math.min(Math.max(options.batchSize, sequences), contextSize);
  return {
    ...native.contextDefaults(),
    n_ctx: pool ?? contextSize * sequences,
    n_batch: batchSize,
    n_ubatch: Math.min(options.microBatchSize, batchSize),
    n_seq_max: sequences,
    n_threads: options.threads,
    n_threads_batch: options.batchThreads,
    flash_attn_type: options.flashAttention ? -1 : 0,
    offload_kqv: options.offloadCache,
    no_perf: true,
    kv_unified: pool !== undefined,
  };
}
