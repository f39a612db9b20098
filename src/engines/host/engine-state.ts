import type { TextState } from '../../core/text-service.ts';
import type { ChildExit } from './child.ts';
import { tickMs } from './heartbeat.ts';

/** State of an engine process. */
export type EngineState =
  | { readonly type: 'idle' }
  | { readonly type: 'starting'; readonly progress: number; readonly trouble?: Trouble }
  | { readonly type: 'ready' }
  /** It has ended and will be started again. */
  | { readonly type: 'lost'; readonly trouble?: Trouble }
  /** It could not be loaded and is not started again. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'stopping' | 'stopped' };

/** Why requests do not wait for an engine that restarts. */
interface Trouble {
  readonly reason: string;
  readonly retryAfterSeconds: number;
}

/** The end of a process that is started again. */
export interface Loss {
  /** `silent`: it hung and was killed. */
  readonly type: 'died' | 'silent' | 'not-loaded';
  readonly exit: ChildExit | undefined;
  readonly reason: string;
  /** How often in a row, with this one. */
  readonly failures: number;
  readonly nextTryMs: number;
}

export function howItDied({ code, signal, unstarted }: Pick<ChildExit, 'code' | 'signal' | 'unstarted'>): string {
  if (unstarted) return `the engine process could not be started: ${unstarted.reason}`;
  return signal ? `the engine process died of ${signal}` : `the engine process ended with code ${code}`;
}

export const stopped: Trouble = { reason: 'it is being stopped', retryAfterSeconds: 5 };

export function troubleOf(state: EngineState): Trouble | undefined {
  if (state.type === 'stopping' || state.type === 'stopped') return stopped;
  return 'trouble' in state ? state.trouble : undefined;
}

/** The state of a text model whose engine is not ready. */
export function unreadyText(name: string, state: EngineState): TextState {
  if (state.type === 'failed') return { type: 'failed', name, reason: state.reason };
  const trouble = troubleOf(state);
  const progress = state.type === 'starting' ? state.progress : 0;
  return { type: 'loading', name, progress, ...(trouble && { trouble }) };
}

/** A console line: what happened, what comes next, and from time to time what to do. */
export function lossLine(capability: string, loss: Loss, advice: string): string {
  const { type, exit, failures, nextTryMs, reason } = loss;
  const what = {
    died: `The ${capability} engine stopped (${exit?.signal ?? `code ${exit?.code}`})`,
    silent: `The ${capability} engine did not answer any more and was ended`,
    'not-loaded': exit?.unstarted
      ? `The ${capability} engine could not be started (${exit.unstarted.reason})`
      : `The ${capability} model could not be loaded again (${reason})`,
  }[type];
  if (nextTryMs === 0) return `${what}; it is being started again.`;
  const seconds = nextTryMs / 1000;
  const helps = failures === 3 || failures % 10 === 0 ? ` ${advice}` : '';
  return `${what}, ${failures} times in a row now; the next try comes in ${seconds} s.${helps}`;
}

/** Requests do not wait for a start that is further away. */
const maxPauseMs = 5000;
/** Requests wait for a restarting engine for this long, or this many times its last load time. */
const maxAway = { minMs: 60_000, loads: 4 };
/** Failures are forgotten after this long in the state `ready`. */
const soundMs = 60_000;

/** When a crashed engine is started again, and whether requests wait for it. Never gives up. */
export class Recovery {
  #failures = 0;
  #reason: string | undefined;
  #untilTryMs = 0;
  #awayMs = 0;
  #readyMs = 0;
  #loadMs = 0;
  #lastLoadMs = 0;

  get failures(): number {
    return this.#failures;
  }

  /** Returns how long to wait before the next try. */
  lost(reason: string): number {
    this.#failures += 1;
    this.#reason = reason;
    this.#untilTryMs = backoffMs(this.#failures);
    return this.#untilTryMs;
  }

  loading(): void {
    this.#untilTryMs = 0;
    this.#loadMs = 0;
  }

  ready(): void {
    this.#lastLoadMs = this.#loadMs;
    this.#reason = undefined;
    this.#awayMs = 0;
    this.#readyMs = 0;
  }

  /** It has finished a task. */
  sound(): void {
    this.#failures = 0;
  }

  /** Called every half second. */
  tick(state: EngineState['type']): void {
    if (state === 'ready') {
      this.#readyMs += tickMs;
      if (this.#readyMs >= soundMs) this.sound();
      return;
    }
    if (state === 'starting') this.#loadMs += tickMs;
    else this.#untilTryMs = Math.max(0, this.#untilTryMs - tickMs);
    this.#awayMs += tickMs;
  }

  /** Why requests should not wait; undefined while they should, and during the first load. */
  trouble(): Trouble | undefined {
    if (this.#reason === undefined) return undefined;
    const maxAwayMs = Math.max(maxAway.minMs, maxAway.loads * this.#lastLoadMs);
    if (this.#untilTryMs <= maxPauseMs && this.#awayMs <= maxAwayMs) return undefined;
    const times = this.#failures > 1 ? ` (${this.#failures} times in a row)` : '';
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#untilTryMs + this.#lastLoadMs) / 1000));
    return { reason: `${this.#reason}${times}`, retryAfterSeconds };
  }
}

/** Exponential backoff between starts; the first restart is immediate. */
export function backoffMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(30_000, 500 * 2 ** (failures - 2));
}
