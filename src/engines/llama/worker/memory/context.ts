import type { MediumChunk } from '../media/media-prompt.ts';
import type { Projector } from '../media/projector.ts';
import type { Native } from '../native/native.ts';
import type { Batch, ContextParams, Pointer } from '../native/structs.ts';

export type DecodeResult = 'ok' | 'no-room' | 'aborted' | 'failed';

/**
 * How a memory goes back to an earlier token: `plain` ones forget any number of tokens; those with a `window` have lost
 * what lies behind it, and can take back only as much as they hold beyond it; a `state` is of its last token and no other.
 */
export type MemoryKind = 'plain' | 'window' | 'state';

/** Asks the library for all of a state, or for the parts of it that cannot forget their end. */
const stateFlags = { whole: 0, part: 1 };

/**
 * One llama.cpp context: the batch that is being filled, the KV cache behind it, and the logits that a decode leaves.
 * It knows tokens, positions and sequence numbers; what they mean is the loop's business.
 */
export class Context {
  readonly batchCapacity: number;
  readonly canShift: boolean;
  readonly memory: MemoryKind;
  /** Whether a saved state holds every cell; of a window it holds only what the next token sees, also of one kept whole. */
  readonly savesAll: boolean;
  /** How many tokens of a prompt it can take back by itself, also after a reply of that length. */
  readonly spare: number;
  readonly #window: number;
  readonly #memory: Pointer;
  readonly #batch: Batch;
  readonly #tokens: Int32Array;
  readonly #positions: Int32Array;
  readonly #sequences: readonly Int32Array[];
  readonly #wanted: Int8Array;
  readonly #abortCell: BigInt64Array;
  /** The library keeps its output buffer, so the same few addresses come back for ever; making a view costs more. */
  readonly #views = new Map<Pointer, Float32Array>();
  #size = 0;
  #decoding = false;

  constructor(
    private readonly native: Native,
    model: Pointer,
    params: ContextParams,
    private readonly vocabularySize: number,
    private readonly projector?: Projector,
  ) {
    const cell = native.alloc(512);
    this.#abortCell = new BigInt64Array(native.view(cell, 512)).fill(1n);
    const pointer = native.contextNew(model, {
      ...params,
      abort_callback: native.isEmpty,
      abort_callback_data: cell,
    });
    if (!pointer) throw new Error('the context could not be made (not enough memory for this context size?)');
    this.pointer = pointer;
    this.#memory = native.memory(pointer);
    const window = native.modelWindow(model);
    const isState = native.modelIsRecurrent(model) || native.modelIsHybrid(model);
    this.memory = isState ? 'state' : window > 0 && !params.swa_full ? 'window' : 'plain';
    this.savesAll = window === 0;
    // A state holds one position: that of the token before the next.
    this.#window = isState ? 2 : window;
    // The library gives a window room for one more micro-batch.
    this.spare = { plain: params.n_ctx, window: params.n_ubatch >> 1, state: 0 }[this.memory];
    // What was taken out of a text cannot be taken out of a state.
    this.canShift = this.memory === 'plain' && native.memoryCanShift(this.#memory);
    // The library lowers n_batch to n_ctx, and more tokens than that in a batch abort the process.
    this.batchCapacity = Math.min(params.n_batch, params.n_ctx);
    this.#batch = native.batchNew(this.batchCapacity, 0, 1);
    const count = this.batchCapacity;
    this.#tokens = new Int32Array(native.view(this.#batch.token, count * 4));
    this.#positions = new Int32Array(native.view(this.#batch.pos, count * 4));
    new Int32Array(native.view(this.#batch.n_seq_id, count * 4)).fill(1);
    const lists = new BigInt64Array(native.view(this.#batch.seq_id, count * 8));
    this.#sequences = Array.from(lists, (list) => new Int32Array(native.view(list, 4)));
    this.#wanted = new Int8Array(native.view(this.#batch.logits, count));
  }

  readonly pointer: Pointer;

  get room(): number {
    return this.batchCapacity - this.#size;
  }

  get size(): number {
    return this.#size;
  }

  clearBatch(): void {
    this.#size = 0;
  }

  /** Returns the place in the batch by which `logits` finds the result. */
  add(token: number, position: number, sequence: number, wantLogits: boolean): number {
    const place = this.#size;
    this.#size += 1;
    this.#tokens[place] = token;
    this.#positions[place] = position;
    (this.#sequences[place] as Int32Array)[0] = sequence;
    this.#wanted[place] = wantLogits ? 1 : 0;
    return place;
  }

  /** Blocks this process: right for steps of a token or two, which are shorter than the way to another thread. */
  decodeNow(): DecodeResult {
    this.#batch.n_tokens = this.#size;
    return decodeResult(this.native.decodeNow(this.pointer, this.#batch));
  }

  decode(): Promise<DecodeResult> {
    this.#batch.n_tokens = this.#size;
    return this.#abortable(this.native.decode(this.pointer, this.#batch));
  }

  /** Computes a picture or sound, which is no part of any batch, from this position on. */
  decodeMedium(chunk: MediumChunk, position: number, sequence: number): Promise<DecodeResult> {
    if (!this.projector) throw new Error('there is no projector');
    return this.#abortable(this.projector.decode(this.pointer, chunk, position, sequence));
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

  /** Ends a running `decode` early (on the CPU within milliseconds; elsewhere it simply finishes). */
  abortDecode(): void {
    if (this.#decoding) this.#abortCell.fill(0n);
  }

  /** A view on the library's own buffer: changes are seen by nobody else, and the next decode overwrites it. */
  logits(place: number): Float32Array {
    const pointer = this.native.logits(this.pointer, place);
    if (!pointer) throw new Error('the engine has no logits for this token');
    const known = this.#views.get(pointer);
    if (known) return known;
    const view = new Float32Array(this.native.view(pointer, this.vocabularySize * 4));
    this.#views.set(pointer, view);
    return view;
  }

  /** Forgets a sequence from a position on; false where this kind of memory cannot (recurrent models). */
  forget(sequence: number, from: number): boolean {
    return this.native.sequenceRemove(this.#memory, sequence, from, -1);
  }

  /**
   * Whether a sequence can go on at this position after `forget`. The library itself forgets the end of a window gladly, and
   * then computes with what is left of it; so we look whether all that the next token sees is there.
   */
  reaches(sequence: number, position: number): boolean {
    if (this.#window === 0 || position === 0) return true;
    const first = this.native.sequenceFirst(this.#memory, sequence);
    const last = this.native.sequenceLast(this.#memory, sequence);
    return canGoOnAt(position, { first, last, window: this.#window });
  }

  /** Copies a whole sequence over another one, which must be empty. */
  copy(from: number, to: number): void {
    this.native.sequenceCopy(this.#memory, from, to, -1, -1);
  }

  /** How many bytes `state` will take. */
  stateBytes(sequence: number): number {
    return Number(this.native.stateSize(this.pointer, sequence, stateFlags.whole));
  }

  /** What the cache holds of a sequence, as bytes. */
  state(sequence: number): Uint8Array {
    return this.#save(sequence, stateFlags.whole);
  }

  /** Puts such bytes back into an empty sequence; false if they do not fit this model or its settings. */
  restore(sequence: number, bytes: Uint8Array): boolean {
    return this.#load(sequence, bytes, stateFlags.whole);
  }

  /** What of a sequence cannot forget its end, as bytes. */
  part(sequence: number): Uint8Array {
    return this.#save(sequence, stateFlags.part);
  }

  /** Puts such bytes back beside the rest of the sequence; false if that failed. */
  restorePart(sequence: number, bytes: Uint8Array): boolean {
    return this.#load(sequence, bytes, stateFlags.part);
  }

  #save(sequence: number, flags: number): Uint8Array {
    const bytes = new Uint8Array(Number(this.native.stateSize(this.pointer, sequence, flags)));
    return bytes.subarray(0, Number(this.native.stateGet(this.pointer, bytes, bytes.length, sequence, flags)));
  }

  #load(sequence: number, bytes: Uint8Array, flags: number): boolean {
    return Number(this.native.stateSet(this.pointer, bytes, bytes.length, sequence, flags)) > 0;
  }

  /** Takes `count` tokens out at `from`, and moves the rest of the sequence down over the gap. */
  shift(sequence: number, from: number, count: number, end: number): boolean {
    if (!this.native.sequenceRemove(this.#memory, sequence, from, from + count)) return false;
    this.native.sequenceMove(this.#memory, sequence, from + count, end, -count);
    return true;
  }
}

/**
 * Whether a memory that holds these positions has all that a token at `position` sees: itself and what stands before it in
 * the window. Where nothing follows `position`, the library has kept what is needed.
 */
export function canGoOnAt(
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
