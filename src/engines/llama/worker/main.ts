import { availableParallelism, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { plainError } from '../../../core/errors.ts';
import { availableBytes } from '../../../core/memory.ts';
import type { CacheReport } from '../../../core/text-service.ts';
import { openParent } from '../../host/parent.ts';
import { closingMs, type FromWorker, type ToWorker } from '../messages.ts';
import { openSnapshotCache, SavedStateSlots } from './cache/snapshot-cache.ts';
import { GrammarCache } from './grammar.ts';
import { type Loaded, loadModel } from './load/model.ts';
import { BatchLoop } from './loop.ts';
import { LoraTurns } from './lora-turns.ts';
import { portionSize } from './memory/batch-size.ts';
import { CellPool } from './memory/cell-pool.ts';
import { HeldSlots } from './memory/held-slots.ts';
import { PromptHistory } from './memory/prompt-history.ts';
import { Slot } from './memory/slot.ts';
import { GpuBuildError } from './native/cuda-libraries.ts';
import { NativeLoadError, readCards } from './native/weights.ts';
import {
  adapterSetting,
  beginGeneration,
  type ReadingRequests,
  saveBefore,
  uncachedTokens,
  type WorkerContext,
} from './prepare.ts';
import { stepThreads } from './threads/step-threads.ts';

/** The worker process: loads one model and serves it until its channel closes. */
let serving: Awaited<ReturnType<typeof serve>> | undefined;

const parent = openParent<ToWorker, FromWorker>({
  message: (message) => void receive(message),
  closed: () => serving?.close(),
});
const send = (message: FromWorker): void => parent.send(message);

async function receive(message: ToWorker): Promise<void> {
  if (message.type === 'load') {
    try {
      const progress = (fraction: number) => send({ type: 'progress', fraction });
      const placed = (gpuLayers: number) => send({ type: 'placed', gpuLayers });
      const availableBefore = freeMemory();
      const loaded = await loadModel(message.options, progress, parent.watch, placed);
      serving = await serve(loaded, availableBefore);
      // Without the server, unfinished writes get this much time.
      parent.watch.serving(closingMs.writing);
      const { limitBytes = 0 } = serving.worker.snapshots?.figures().memory ?? {};
      send({ type: 'loaded', facts: { ...loaded.info, snapshotBytes: limitBytes } });
    } catch (error) {
      const unexplained = error instanceof NativeLoadError || error instanceof GpuBuildError;
      const reason = unexplained ? null : (error as Error).message;
      parent.send({ type: 'load-failed', reason }, [], () => process.exit(3));
    }
    return;
  }
  if (!serving) return;
  const { worker, loop } = serving;
  const { vocabulary } = worker.loaded;
  switch (message.type) {
    case 'generate':
      await beginGeneration({ ...serving, send }, message);
      return;
    case 'abort': {
      const reading = serving.reading.get(message.id);
      if (reading) reading.stop();
      else loop.abort(message.id);
      return;
    }
    case 'hold': {
      const reading = serving.reading.get(message.id);
      if (reading) reading.stop();
      else loop.hold(message.id);
      return;
    }
    case 'proceed':
      loop.proceed(message.id);
      return;
    case 'interrupt':
      loop.interrupt(message.id, message.minTokens);
      return;
    case 'uncached':
      await answer(message.id, () => uncachedTokens(worker, message.request));
      return;
    case 'cache':
      await answer(message.id, () => cacheReport(worker));
      return;
    case 'cards':
      await answer(message.id, () => readCards(worker.loaded.native, worker.loaded.gpus));
      return;
    case 'release':
      await answer(message.id, () => release(worker, message.bytes));
      return;
    case 'states': {
      const { states } = serving;
      await answer(message.id, () => loop.between(async () => states.perform(message.action)));
      return;
    }
    case 'tokenize':
      await answer(message.id, async () => Array.from(await vocabulary.tokenizeAside(message.text, message)));
      return;
    case 'pieces':
      await answer(message.id, () => message.tokens.map((token) => vocabulary.piece(token)));
      return;
    case 'detokenize':
      await answer(message.id, () => vocabulary.detokenize(message.tokens, message.renderSpecial));
  }
}

function cacheReport({ slots, pool, snapshots, history }: WorkerContext): CacheReport {
  return {
    ...(pool && { pool: pool.figures }),
    slots: slots.map(({ computed, busy, checkpoints }) => ({
      tokens: computed,
      busy,
      ...(checkpoints.count > 0 ? { checkpoints } : {}),
    })),
    ...(snapshots?.figures() ?? { memory: null, disk: null }),
    misses: history.misses,
  };
}

/** macOS leaves no memory unused; what it would free for a program is taken to be half of all. */
const freeMemory = (): number => (process.platform === 'darwin' ? totalmem() / 2 : availableBytes());

/** Memory that is not referred to any more returns to the system when the garbage is collected: now. */
function release({ snapshots }: Pick<WorkerContext, 'snapshots'>, bytes: number): void {
  snapshots?.release(bytes);
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

async function answer(id: number, work: () => unknown): Promise<void> {
  try {
    send({ type: 'answer', id, value: await work() });
  } catch (error) {
    send({ type: 'refused', id, error: plainError(error) });
  }
}

/**
 * Not where something else than the slot depends on the sequence or on the others that run: layers for multi-token prediction,
 * adapters of requests, portions of `--deterministic`.
 */
function canHold({ layers, options }: Loaded): boolean {
  return !layers && options.lora.length === 0 && !options.deterministic;
}

/** Memory limit for the checkpoints of all slots, and the minimum share of one slot. */
const checkpointMemory = { total: 2 * 2 ** 30, minPerSlot: 256 * 2 ** 20 };

async function serve(loaded: Loaded, availableBefore: number) {
  const { context, options, contextSize } = loaded;
  const now = () => performance.now();
  const portion = portionSize(options, context.batchCapacity);
  const limits = { count: 8, bytes: Math.max(checkpointMemory.total / options.sequences, checkpointMemory.minPerSlot) };
  const newSlot = (sequence: number) => new Slot(context, sequence, contextSize, limits, portion);
  const slots = Array.from({ length: options.sequences }, (_, sequence) => newSlot(sequence));
  const save = (slot: Slot) => saveBefore(worker, slot, undefined);
  const wake = () => loop.beforeNextBatch(() => {});
  const pool = context.pool === undefined ? undefined : new CellPool({ slots, capacity: context.pool, save, wake });
  const ownAdapters = adapterSetting({ loaded }, {});
  const worker: WorkerContext = {
    loaded,
    slots,
    pool,
    negative: options.guidance ? newSlot(options.sequences) : undefined,
    now,
    grammars: new GrammarCache(loaded.vocabulary),
    breakers: undefined,
    reasoning: 'unknown',
    adapters: new LoraTurns(ownAdapters, (setting) => loop.between(async () => changeAdapters(setting))),
    snapshots: undefined,
    samplers: undefined,
    history: new PromptHistory({
      detokenize: (tokens) => loaded.vocabulary.detokenize(tokens, true),
      isControl: (token) => loaded.vocabulary.isControl(token),
      now: Date.now,
    }),
  };
  const loop = new BatchLoop({
    context,
    // In a pool all sequences are computed in one pass.
    slots: context.memory === 'plain' && !pool ? slots : [],
    send,
    now,
    isolated: options.deterministic,
    onGpu: loaded.info.gpuLayers > 0,
    sharesCores: options.threads >= availableParallelism(),
    prefilled: (tokens, milliseconds) => worker.snapshots?.computed(tokens, milliseconds),
    samplers: () => worker.samplers,
    layers: loaded.layers,
    threads: stepThreads(loaded, send, now),
    pool,
    save: (slot) => worker.snapshots?.save(slot) ?? false,
    ...(canHold(loaded) && { held: new HeldSlots({ slots, pool, newSlot, save, availableBytes: freeMemory }) }),
  });
  const snapshots = await openSnapshotCache(loaded, {
    slots,
    pool,
    exclusively: (work) => loop.between(work),
    send,
    view: { availableBefore, available: freeMemory },
    now,
  });
  worker.snapshots = snapshots;
  /** Chats of the adapters of the start are kept for their return, and those of others computed again. */
  function changeAdapters(setting: string): void {
    for (const slot of slots) {
      saveBefore(worker, slot, undefined);
      slot.clear();
    }
    worker.negative?.clear();
    loaded.setAdapters(JSON.parse(setting));
    worker.snapshots = setting === ownAdapters ? snapshots : undefined;
  }
  const states = new SavedStateSlots(slots, options.savedStates, now, {
    snapshots: () => worker.snapshots,
    ...(pool && { pool }),
    setting: () => worker.adapters.setting,
  });
  const close = () => snapshots?.close({ saves: worker.snapshots !== undefined });
  const reading: ReadingRequests = new Map();
  return { worker, loop, states, reading, close };
}
