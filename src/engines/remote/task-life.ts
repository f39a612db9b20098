import type { EngineState } from '../host/engine-state.ts';
import type { Fleet } from './fleet.ts';

/** Engines elsewhere in the place of a process of ours: there is nothing to load, and nothing that could die here. */
export class TaskLife {
  readonly pid = undefined;
  #settled: Promise<void> | undefined;

  constructor(protected readonly fleet: Fleet) {}

  start(): void {
    this.#settled ??= this.fleet.start();
  }

  async stop(): Promise<void> {
    if (this.#settled) this.fleet.stop();
    this.#settled = undefined;
  }

  /** Whether they answer is seen by whoever asks them. */
  state(): EngineState {
    return this.#settled ? { type: 'ready' } : { type: 'idle' };
  }

  settled(): Promise<void> {
    return this.#settled ?? Promise.resolve();
  }
}
