import { readdirSync } from 'node:fs';
import { attempt } from '../core/attempt.ts';
import type { GpuMemory, GpuNeed, GpuUse } from '../core/gpu-memory.ts';
import { readText } from '../core/read-text.ts';
import type { StartTimer } from '../engines/host/engine-process.ts';

export type LifecycleState =
  | { readonly type: 'loading'; readonly progress: number }
  | { readonly type: 'ready' }
  | { readonly type: 'failed'; readonly reason: string };

/** State of a registry entry, loaded or not. */
export type EntryState =
  | LifecycleState
  | { readonly type: 'unloaded' }
  /** Finishes its requests and is unloaded; new requests wait until it is loaded again. */
  | { readonly type: 'leaving' };

/** How to load a model: its kind, its name, its memory, its engine. */
export interface ModelSpec<Loaded extends Lifecycle = Lifecycle> {
  readonly name: string;
  readonly kind: string;
  /** Never evicted. */
  readonly pinned?: boolean;
  /** Never loaded beside members of another group. */
  readonly group?: string;
  /** Small: does not count against `--maxmodels`. */
  readonly auxiliary?: boolean;
  /** Longest time that it stays loaded after its last use, unless a client sets another. */
  readonly keepMs?: number;
  /** The same as it was configured for this model: wins over the default of the server. */
  readonly idleMs?: number;
  /** Expected memory in bytes, from the model file. Throws if the file cannot be read. */
  need(): Promise<number>;
  /** Expected memory on GPUs; undefined for none. */
  gpuNeed?(): Promise<GpuNeed | undefined>;
  make(): Loaded;
}

/** A loaded model. It is not unloaded before it is released. */
export interface Use {
  readonly name: string;
  readonly lifecycle: Lifecycle;
  /** Idempotent. */
  release(): void;
}

/** `used`: it is not to stay loaded after a request. */
export type UnloadReason = 'idle' | 'used' | 'requested' | 'memory' | 'replaced';

/** An engine in its own process, or on a remote backend. */
export interface HostedEngine extends Pick<Lifecycle, 'start' | 'stop' | 'settled' | 'gpuUse' | 'gpus' | 'release'> {
  /** The process that holds the model, if there is one. */
  readonly pid?: number | undefined;
  state(): { readonly type: string; readonly progress?: number; readonly reason?: string };
  /** Snapshots in memory, which it gives back on `release`. */
  snapshots?(): { readonly bytes: number } | undefined;
  /** What a program has printed. */
  readonly output?: { readonly lines: readonly string[] };
}

/** What the registry needs of an engine. Test engines have no memory. */
export type Lifecycle = Pick<AnyLifecycle, 'start' | 'stop' | 'state' | 'settled'> &
  Partial<Pick<AnyLifecycle, 'bytes' | 'spareBytes' | 'release' | 'gpuUse' | 'gpus' | 'output'>>;
type AnyLifecycle = EngineLifecycle<HostedEngine>;

/** Lifecycle of an engine of any kind, for the registry. One that restarts after a crash is `loading` meanwhile. */
export class EngineLifecycle<Engine extends HostedEngine> {
  /** The last lines that its program has printed. */
  readonly output?: () => readonly string[];

  constructor(
    readonly engine: Engine,
    /** Called when the model is loaded. */
    private readonly onLoaded: () => void = () => {},
  ) {
    const { output } = engine;
    if (output) this.output = () => output.lines;
  }

  start(): void {
    this.engine.start();
  }

  /** Resolves when its process has ended and its memory is free. */
  stop(): Promise<void> {
    return this.engine.stop();
  }

  state(): LifecycleState {
    const { type, progress = 0, reason = '' } = this.engine.state();
    if (type === 'ready' || type === 'none') return { type: 'ready' };
    return type === 'failed' ? { type, reason } : { type: 'loading', progress };
  }

  /** Resolves when the state is no longer `loading`. */
  async settled(): Promise<void> {
    await this.engine.settled();
    if (this.engine.state().type === 'ready') this.onLoaded();
  }

  /** Memory in use, once it is known; without what it gives back when others need it. */
  bytes(): number | undefined {
    const resident = this.engine.state().type === 'ready' ? residentBytes(this.engine.pid) : undefined;
    return resident === undefined ? undefined : Math.max(0, resident - this.spareBytes());
  }

  /** Memory that it gives back when others need it. */
  spareBytes(): number {
    return this.engine.snapshots?.()?.bytes ?? 0;
  }

  /** Gives memory back, up to so many bytes. Does not wait long for an engine that does not answer. */
  async release(bytes: number): Promise<void> {
    await inTime(this.engine.release?.(bytes), undefined);
  }

  /** What it holds of GPUs. */
  gpuUse(): readonly GpuUse[] {
    return this.engine.gpuUse?.() ?? [];
  }

  /** The memory of its GPUs now; what was known at the load, if the engine does not answer soon. */
  async gpus(): Promise<readonly GpuMemory[]> {
    const known = this.gpuUse();
    const now = await inTime(this.engine.gpus?.() ?? known, known);
    return now.length > 0 ? now : known;
  }
}

/** Metrics and loads wait for the answer of an engine. */
const maxAnswerMs = 2000;

/** The answer, or this value if it does not come in time. */
function inTime<Answer>(answer: Answer | Promise<Answer>, late: Answer): Promise<Answer> {
  return Promise.race([answer, new Promise<Answer>((resolve) => engineTimer(maxAnswerMs, () => resolve(late)))]);
}

/** A timer for engine processes. It does not keep the program running. */
export const engineTimer: StartTimer = (milliseconds, passed) => {
  const timeout = setTimeout(passed, milliseconds).unref();
  return { cancel: () => clearTimeout(timeout) };
};

/** Resident memory of a process and its children; Linux only. */
export function residentBytes(pid: number | undefined): number | undefined {
  if (process.platform !== 'linux' || pid === undefined) return undefined;
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readText(`/proc/${pid}/status`))?.[1];
  if (kilobytes === undefined) return undefined;
  return childrenOf(pid).reduce((sum, child) => sum + (residentBytes(child) ?? 0), Number(kilobytes) * 1024);
}

/** The children of all threads: each list has only those that its thread has started. */
function childrenOf(pid: number): readonly number[] {
  const threads = attempt(() => readdirSync(`/proc/${pid}/task`), []);
  return threads.flatMap((thread) =>
    readText(`/proc/${pid}/task/${thread}/children`).split(' ').filter(Boolean).map(Number),
  );
}
