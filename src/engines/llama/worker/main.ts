import { availableParallelism, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { plainError } from '../../../core/errors.ts';
import { availableBytes } from '../../../core/memory.ts';
import type { CacheReport } from '../../../core/text-service.ts';
import { openParent } from '../../host/parent.ts';
import type { LoadOptions } from '../load-options.ts';
import { type Call, closingMs, type FromWorker, type ToWorker } from '../messages.ts';
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
import { NativeLoadError, readGpus } from './native/weights.ts';
import {
  adapterSetting,
  beginGeneration,
  type ReadingRequests,
  saveBefore,
  uncachedTokens,
  type WorkerContext,
} from './prepare.ts';
import { checkpoints } from './scheduling.ts';
import { stepThreads } from './threads/step-threads.ts';

/** The worker process: loads one model and serves it until its channel closes. */
let serving: Serving | undefined;
type Serving = Awaited<ReturnType<typeof serve>>;

const parent = openParent<ToWorker, FromWorker>({
  message: (message) => void receive(message),
  closed: () => serving?.close(),
});
const send = (message: FromWorker): void => parent.send(message);

async function receive(message: ToWorker): Promise<void> {
  if (message.type === 'load') return load(message.options);
  if (!serving) return;
  const { loop, reading } = serving;
  switch (message.type) {
    case 'generate':
      return beginGeneration({ ...serving, send }, message);
    case 'abort':
    case 'hold': {
      const unstarted = reading.get(message.id);
      return unstarted ? unstarted.stop() : loop[message.type](message.id);
    }
    case 'proceed':
      return loop.proceed(message.id);
    case 'interrupt':
      return loop.interrupt(message.id, message.minTokens);
    default:
      return answer(message, serving);
  }
}

async function load(options: LoadOptions): Promise<void> {
  try {
    const progress = (fraction: number) => send({ type: 'progress', fraction });
    const placed = (gpuLayers: number) => send({ type: 'placed', gpuLayers });
    const availableBefore = freeMemory();
    const loaded = await loadModel(options, progress, parent.watch, placed);
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
}

async function answer(call: { readonly id: number } & Call, model: Serving): Promise<void> {
  const { id } = call;
  try {
    send({ type: 'answer', id, value: await resultOf(call, model) });
  } catch (error) {
    send({ type: 'refused', id, error: plainError(error) });
  }
}

function resultOf(call: Call, { worker, loop, states }: Serving): unknown {
  const { native, gpus, vocabulary } = worker.loaded;
  switch (call.type) {
    case 'uncached':
      return uncachedTokens(worker, call.request);
    case 'cache':
      return cacheReport(worker);
    case 'gpus':
      return readGpus(native, gpus);
    case 'release':
      return release(worker, call.bytes);
    case 'states':
      return loop.between(async () => states.perform(call.action));
    case 'tokenize':
      return vocabulary.tokenizeAside(call.text, call).then((tokens) => Array.from(tokens));
    case 'pieces':
      return call.tokens.map((token) => vocabulary.piece(token));
    case 'detokenize':
      return vocabulary.detokenize(call.tokens, call.renderSpecial);
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

/** macOS leaves no memory unused: half of all memory is assumed to be available to a program. */
const freeMemory = (): number => (process.platform === 'darwin' ? totalmem() / 2 : availableBytes());

/** Collects the garbage at once, which returns the memory to the system. */
function release({ snapshots }: Pick<WorkerContext, 'snapshots'>, bytes: number): void {
  snapshots?.release(bytes);
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
}

/**
 * False where more than the slot depends on the sequence or on the other running ones: layers for multi-token prediction, adapters of
 * requests, portions of `--deterministic`.
 */
function canHold({ layers, options }: Loaded): boolean {
  return !layers && options.lora.length === 0 && !options.deterministic;
}

async function serve(loaded: Loaded, availableBefore: number) {
  const { context, options, contextSize } = loaded;
  const now = () => performance.now();
  const portion = portionSize(options, context.batchCapacity);
  const { maxCount: count, maxBytes, minSlotBytes } = checkpoints;
  const limits = { count, bytes: Math.max(maxBytes / options.sequences, minSlotBytes) };
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
      isControl: loaded.vocabulary.isControl,
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
  /** Snapshots belong to the adapters of the start: chats with other adapters are computed again. */
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
