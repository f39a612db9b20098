import { AppError } from '../../core/errors.ts';
import type { ChildExit } from './child.ts';
import { tickMs } from './heartbeat.ts';

/** The life of an engine's process. */
export type EngineState =
  | { readonly type: 'idle' }
  | { readonly type: 'starting'; readonly progress: number; readonly trouble?: Trouble }
  | { readonly type: 'ready' }
  /** It is gone, and a new one will be started. */
  | { readonly type: 'lost'; readonly trouble?: Trouble }
  /** It could not be started at all, and is not tried again. */
  | { readonly type: 'failed'; readonly reason: string }
  | { readonly type: 'stopping' | 'stopped' };

/** Why an engine that is coming back is nothing to wait for. */
export interface Trouble {
  readonly reason: string;
  readonly retryAfterSeconds: number;
}

/** The end of a process that will be followed by another one. */
export interface Loss {
  /** `silent`: it gave no sign of life and was ended by us. */
  readonly type: 'died' | 'silent' | 'not-loaded';
  readonly exit: ChildExit | undefined;
  readonly reason: string;
  /** How often in a row, with this one. */
  readonly failures: number;
  readonly nextTryMs: number;
}

export function howItDied({ code, signal }: Pick<ChildExit, 'code' | 'signal'>): string {
  return signal ? `the engine process died of ${signal}` : `the engine process ended with code ${code}`;
}

export function downError(capability: string, { reason, retryAfterSeconds }: Trouble): AppError {
  return new AppError('engine-down', { capability, reason, retryAfterSeconds });
}

/** One line for the console: what happened, what comes next, and now and then what a person can do. */
export function lossLine(capability: string, loss: Loss, advice: string): string {
  const { type, exit, failures, nextTryMs, reason } = loss;
  const what = {
    died: `The ${capability} engine stopped (${exit?.signal ?? `code ${exit?.code}`})`,
    silent: `The ${capability} engine did not answer any more and was ended`,
    'not-loaded': `The ${capability} model could not be loaded again (${reason})`,
  }[type];
  if (nextTryMs === 0) return `${what}; it is being started again.`;
  const seconds = nextTryMs / 1000;
  const helps = failures === 3 || failures % 10 === 0 ? ` ${advice}` : '';
  return `${what}, ${failures} times in a row now; the next try comes in ${seconds} s.${helps}`;
}

/** A next try that is further away than this is nothing to wait for. */
const longestPauseMs = 5000;
/** An engine that comes back is waited for, for so long or for some times as long as loading took before. */
const comingBack = { leastMs: 60_000, loads: 4 };
/** One that was ready for so long is sound: whatever happens then is its first failure. */
const soundMs = 60_000;

/** How an engine that dies comes back: when it is tried again, and whether that is worth waiting for. It never gives up. */
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

  /** It has done a piece of work to its end. */
  sound(): void {
    this.#failures = 0;
  }

  /** Half a second has passed in this state. */
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

  /** Why nobody should wait; undefined while it is worth it, and during the first load, which takes as long as it takes. */
  trouble(): Trouble | undefined {
    if (this.#reason === undefined) return undefined;
    const longestMs = Math.max(comingBack.leastMs, comingBack.loads * this.#lastLoadMs);
    if (this.#untilTryMs <= longestPauseMs && this.#awayMs <= longestMs) return undefined;
    const times = this.#failures > 1 ? ` (${this.#failures} times in a row)` : '';
    const retryAfterSeconds = Math.max(1, Math.ceil((this.#untilTryMs + this.#lastLoadMs) / 1000));
    return { reason: `${this.#reason}${times}`, retryAfterSeconds };
  }
}

/** How long to wait before the next start of an engine that keeps dying: at once, then longer and longer, up to a limit. */
export function backoffMs(failures: number): number {
  return failures <= 1 ? 0 : Math.min(30_000, 500 * 2 ** (failures - 2));
}
