import { plainRequest } from '../../../../core/testing/plain-request.ts';
import type { TokenizeOptions } from '../../../../core/text-service.ts';
import type { FromWorker, Piece } from '../../messages.ts';
import type { SnapshotCache } from '../cache/snapshot-cache.ts';
import { GrammarCache } from '../grammar.ts';
import type { Loaded } from '../load/model.ts';
import { BatchLoop } from '../loop.ts';
import { LoraTurns } from '../lora-turns.ts';
import type { Projector } from '../media/projector.ts';
import { CellPool } from '../memory/cell-pool.ts';
import type { Context } from '../memory/context.ts';
import { HeldSlots } from '../memory/held-slots.ts';
import { PromptHistory } from '../memory/prompt-history.ts';
import { Slot } from '../memory/slot.ts';
import { adapterSetting, beginGeneration, type ReadingRequests, saveBefore, type WorkerContext } from '../prepare.ts';
import type { Vocabulary } from '../text/vocabulary.ts';

const size = 128;
const bos = 1;
const end = 0;

export interface WorldOptions {
  /** For copies of what held generations have computed. */
  readonly availableBytes?: number;
  readonly sequences?: number;
  readonly contextSize?: number;
  readonly reusePrompt?: boolean;
  readonly addsBos?: boolean;
  readonly projector?: Projector;
  readonly snapshots?: Partial<SnapshotCache>;
  /** The cells that all sequences share. */
  readonly pool?: number;
  readonly lora?: readonly { readonly path: string; readonly scale: number }[];
  /** Called when adapters are applied with other scales. */
  readonly adapted?: (setting: string) => void;
  /** The next token after each token; by default a letter after the last one. */
  readonly logits?: (token: number) => Float32Array;
}

/**
 * The worker without the library: each letter is a token, and the cache is a list. The loop, the slots and all that makes a
 * generation are the real ones.
 */
export function workerWorld(options: WorldOptions = {}) {
  const { sequences = 1, contextSize = 64, reusePrompt = true } = options;
  const messages: FromWorker[] = [];
  const reading: ReadingRequests = new Map();
  const tokenizing: { readonly text: string; readonly go: () => void }[] = [];
  const aside = { held: false };
  const vocabulary = letters(options.addsBos ?? false, async (text) => {
    if (aside.held) await new Promise<void>((go) => tokenizing.push({ text, go }));
  });
  const context = listContext(options.logits ?? nextLetter, options.pool);
  const loaded = {
    vocabulary,
    context,
    contextSize,
    projector: options.projector,
    draft: undefined,
    options: { reusePrompt, contextShift: false, draft: undefined, lora: options.lora ?? [] },
    info: { chatTemplate: undefined },
  } as unknown as Loaded;
  const slots = Array.from({ length: sequences }, (_, sequence) => new Slot(context, sequence, contextSize));
  let time = 0;
  const now = () => ++time;
  const save = (slot: Slot) => saveBefore(worker, slot, undefined);
  const wake = () => loop.beforeNextBatch(() => {});
  const pool = options.pool === undefined ? undefined : new CellPool({ slots, capacity: options.pool, save, wake });
  const worker: WorkerContext = {
    loaded,
    slots,
    negative: undefined,
    pool,
    now,
    grammars: new GrammarCache(vocabulary),
    breakers: undefined,
    reasoning: 'unknown',
    adapters: new LoraTurns(adapterSetting({ loaded }, {}), async (setting) => {
      for (const slot of slots) slot.clear();
      options.adapted?.(setting);
    }),
    snapshots: options.snapshots as SnapshotCache | undefined,
    samplers: undefined,
    history: new PromptHistory({
      detokenize: (tokens) => vocabulary.detokenize(tokens, true),
      isControl: () => false,
      now: () => 0,
    }),
  };
  const send = (message: FromWorker) => void messages.push(message);
  const samplers = () => worker.samplers;
  const keep = (slot: Slot) => worker.snapshots?.save(slot) ?? false;
  const newSlot = (sequence: number) => new Slot(context, sequence, contextSize);
  const held = new HeldSlots({ slots, pool, newSlot, save, availableBytes: () => options.availableBytes ?? 2 ** 30 });
  const loop = new BatchLoop({ context, slots: pool ? [] : slots, send, now, samplers, pool, save: keep, held });

  /** As the worker does it: a request that is being read is stopped there, any other one in the loop. */
  function abort(id: number): void {
    const waiting = reading.get(id);
    if (waiting) waiting.stop();
    else loop.abort(id);
  }

  return {
    slots,
    worker,
    loop,
    reading,
    abort,
    vocabulary,
    begin: (id: number, prompt: string, changes: Partial<ReturnType<typeof plainRequest>> = {}, seed = 1) =>
      beginGeneration(
        { worker, loop, reading, send },
        { type: 'generate', id, request: plainRequest(prompt, 4, { overflow: 'refuse', ...changes }), seed },
      ),
    /** Rows of all batches, with those that found no cells. */
    rows: (): number =>
      messages.reduce((sum, message) => sum + (message.type === 'step-times' ? message.times.rows : 0), 0),
    /** All messages of one request. */
    pieces: (id: number): readonly Piece[] =>
      messages.flatMap((message) => (message.type === 'step' ? message.pieces.filter((piece) => piece.id === id) : [])),
    text: (id: number): string =>
      messages
        .flatMap((message) => (message.type === 'step' ? message.pieces : []))
        .map((piece) => (piece.id === id && piece.type === 'text-delta' ? piece.text : ''))
        .join(''),
    /** Blocks long reads until they are released. */
    hold: () => {
      aside.held = true;
    },
    letGo: () => {
      aside.held = false;
      for (const { go } of tokenizing.splice(0)) go();
    },
    /** Until nothing moves any more. */
    settled: async () => {
      for (let turn = 0; turn < 60; turn++) await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

function letters(addsBos: boolean, before: (text: string) => Promise<void>): Vocabulary {
  const tokenize = (text: string, { addSpecial }: TokenizeOptions) =>
    Int32Array.from([
      ...(addSpecial && addsBos ? [bos] : []),
      ...Array.from(text, (letter) => (letter.codePointAt(0) ?? 0) % size),
    ]);
  const bytes = (token: number) => (token <= bos ? new Uint8Array(0) : Uint8Array.of(token));
  return {
    native: { grammarNew: () => null, lazyGrammarNew: () => null },
    pointer: null,
    size,
    bos,
    addsBos,
    endTokens: [end],
    isEnd: (token: number) => token === end,
    isControl: () => false,
    bytes,
    tokenize,
    tokenizeAside: async (text: string, options: TokenizeOptions) => {
      await before(text);
      return tokenize(text, options);
    },
    detokenize: (tokens: ArrayLike<number>) => Buffer.concat(Array.from(tokens, bytes)).toString(),
    texts: () => Array.from({ length: size }, (_, token) => String.fromCharCode(token)),
  } as unknown as Vocabulary;
}

/** Sure of the letter that follows in the alphabet. */
export function nextLetter(token: number): Float32Array {
  const logits = new Float32Array(size).fill(-50);
  logits[Math.min(size - 1, token + 1)] = 50;
  return logits;
}

export function evenly(): Float32Array {
  const logits = new Float32Array(size).fill(-50);
  for (let token = 97; token < 123; token++) logits[token] = 1;
  return logits;
}

/** Counts the cells of each sequence. Throws if a token does not follow the one before it. */
function listContext(logits: (token: number) => Float32Array, pool = Number.POSITIVE_INFINITY): Context {
  let batch: number[] = [];
  let rows: { readonly sequence: number; readonly position: number }[] = [];
  let computed: readonly number[] = [];
  const cells = new Map<number, number>();
  const decodeNow = () => {
    const used = [...cells.values()].reduce((sum, count) => sum + count, 0);
    if (used + rows.length > pool) return 'no-room' as const;
    for (const { sequence, position } of rows) {
      if (position !== (cells.get(sequence) ?? 0)) throw new Error('a token does not follow the one before it');
      cells.set(sequence, position + 1);
    }
    computed = batch;
    return 'ok' as const;
  };
  return {
    memory: 'plain',
    spare: 0,
    canShift: false,
    batchCapacity: 256,
    get size() {
      return batch.length;
    },
    add: (token: number, position: number, sequence: number) => {
      rows.push({ sequence, position });
      return batch.push(token) - 1;
    },
    clearBatch: () => {
      batch = [];
      rows = [];
    },
    decodeNow,
    decode: async () => decodeNow(),
    abortDecode: () => undefined,
    logits: (row: number) => logits(computed[row] ?? 0),
    reaches: () => true,
    forget: (sequence: number, from: number) => {
      cells.set(sequence, Math.min(from, cells.get(sequence) ?? 0));
      return true;
    },
    copy: (from: number, to: number) => void cells.set(to, cells.get(from) ?? 0),
    stateBytes: () => 1,
    state: (sequence: number) => new Uint8Array(Int32Array.of(cells.get(sequence) ?? 0).buffer),
    restore: (sequence: number, state: Uint8Array) => {
      const [count = 0] = new Int32Array(state.buffer);
      const others = [...cells].reduce((sum, [other, used]) => sum + (other === sequence ? 0 : used), 0);
      if (others + count > pool) return false;
      cells.set(sequence, count);
      return true;
    },
  } as unknown as Context;
}
