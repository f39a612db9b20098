import type { GpuMemory, GpuUse } from '../../core/gpu-memory.ts';
import type { MemoryBudget } from '../eviction.ts';
import type { Lifecycle, LifecycleState, ModelSpec, UnloadReason } from '../lifecycle.ts';
import { Registry } from '../registry.ts';
import type { SwapLimits } from '../swap-order.ts';

/** A lifecycle whose state the test sets. */
export class FakeLifecycle implements Lifecycle {
  #state: LifecycleState = { type: 'loading', progress: 0 };
  #waiting: (() => void)[] = [];
  stopped = false;
  /** Whether a stop waits for `stopNow`. */
  slowStop = false;
  /** What it has beside its size and gives back when asked. */
  spare = 0;
  #stops: (() => void)[] = [];

  constructor(
    readonly name: string,
    private readonly size: number | undefined,
    /** What it holds of the GPU. */
    readonly onGpu = 0,
    private readonly freeOnGpu: () => number = () => 0,
  ) {}

  gpuUse(): readonly GpuUse[] {
    if (this.#state.type !== 'ready' || this.onGpu === 0) return [];
    const gpu = { name: 'CUDA0', description: 'fake', totalBytes: 100, freeBytes: this.freeOnGpu() };
    return [{ ...gpu, heldBytes: this.onGpu }];
  }

  async gpus(): Promise<readonly GpuMemory[]> {
    return this.gpuUse();
  }

  start(): void {}

  state(): LifecycleState {
    return this.#state;
  }

  bytes(): number | undefined {
    return this.#state.type === 'ready' ? this.size : undefined;
  }

  spareBytes(): number {
    return this.spare;
  }

  async release(bytes: number): Promise<void> {
    this.spare = Math.max(0, this.spare - bytes);
  }

  settled(): Promise<void> {
    if (this.#state.type !== 'loading') return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  stop(): Promise<void> {
    this.stopped = true;
    this.become({ type: 'failed', reason: 'stopped' });
    return this.slowStop ? new Promise((resolve) => this.#stops.push(resolve)) : Promise.resolve();
  }

  stopNow(): void {
    for (const resolve of this.#stops.splice(0)) resolve();
  }

  become(state: LifecycleState): void {
    this.#state = state;
    if (state.type !== 'loading') for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

export interface FakeModel {
  readonly bytes?: number;
  readonly measured?: number;
  readonly pinned?: boolean;
  readonly auxiliary?: boolean;
  readonly keepMs?: number;
  readonly idleMs?: number;
  readonly group?: string;
  /** What it takes of the GPU. */
  readonly onGpu?: number;
  /** Whether the test calls `become`; ready at once otherwise. */
  readonly manual?: boolean;
  readonly broken?: string;
}

/** A registry of fakes, with a simulated clock. */
export function fakeRegistry(
  models: Readonly<Record<string, FakeModel>>,
  {
    room = { bytes: 100, count: 10 },
    keepMs = Number.POSITIVE_INFINITY,
    otherPrograms = () => 0,
    swapLimits,
  }: {
    room?: MemoryBudget;
    keepMs?: number;
    /** What other programs hold of the GPU, which has 100. */
    otherPrograms?: () => number;
    swapLimits?: SwapLimits;
  } = {},
) {
  let now = 0;
  let timers: { at: number; action: () => void }[] = [];
  const lifecycles: FakeLifecycle[] = [];
  const log: string[] = [];
  const freeOnGpu = (): number => {
    const loaded = lifecycles.filter((one) => one.state().type === 'ready');
    return loaded.reduce((free, { onGpu }) => free - onGpu, 100 - otherPrograms());
  };
  const spec = (name: string, model: FakeModel): ModelSpec<FakeLifecycle> => ({
    name,
    kind: 'text',
    ...(model.pinned && { pinned: true }),
    ...(model.auxiliary && { auxiliary: true }),
    ...(model.keepMs !== undefined && { keepMs: model.keepMs }),
    ...(model.idleMs !== undefined && { idleMs: model.idleMs }),
    ...(model.group !== undefined && { group: model.group }),
    need: async () => {
      if (model.broken) throw new Error(model.broken);
      return model.bytes ?? 10;
    },
    ...(model.onGpu !== undefined && { gpuNeed: async () => ({ bytes: model.onGpu ?? 0, devices: [] }) }),
    make: () => {
      const lifecycle = new FakeLifecycle(name, model.measured, model.onGpu, freeOnGpu);
      lifecycles.push(lifecycle);
      if (!model.manual) lifecycle.become({ type: 'ready' });
      return lifecycle;
    },
  });
  const specs = Object.entries(models).map(([name, model]) => spec(name, model));
  const registry: Registry = new Registry({
    memoryBudget: () => ({ ...room, gpus: registry.gpuBudgets }),
    now: () => now,
    defaultKeepMs: () => keepMs,
    ...(swapLimits && { swapLimits }),
    startTimer: (milliseconds, action) => {
      const timer = { at: now + milliseconds, action };
      timers.push(timer);
      return {
        cancel: () => {
          timers = timers.filter((one) => one !== timer);
        },
      };
    },
    observer: {
      loading: (name, gone) => log.push(`loading ${name}${gone.length > 0 ? ` instead of ${gone.join(' ')}` : ''}`),
      loaded: (name) => log.push(`loaded ${name}`),
      failed: (name, reason) => log.push(`failed ${name}: ${reason}`),
      left: (name, why: UnloadReason) => log.push(`left ${name}: ${why}`),
    },
  });
  for (const one of specs) registry.add(one);
  return {
    registry,
    spec,
    specs,
    log,
    lifecycles,
    /** The last lifecycle of this name. */
    lifecycle: (name: string): FakeLifecycle => {
      const found = lifecycles.findLast((lifecycle) => lifecycle.name === name);
      if (!found) throw new Error(`${name} was never made`);
      return found;
    },
    /** Advances the clock and runs due timers. */
    pass: async (milliseconds: number) => {
      now += milliseconds;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter((timer) => !due.includes(timer));
      for (const { action } of due) action();
      await quiet();
    },
    timers: () => timers.length,
  };
}

/** Resolves after all pending microtasks. */
export async function quiet(): Promise<void> {
  for (let round = 0; round < 30; round += 1) await Promise.resolve();
}
