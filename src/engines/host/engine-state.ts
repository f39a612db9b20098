import { AppError } from '../../core/errors.ts';
import type { ChildExit } from './child.ts';

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
