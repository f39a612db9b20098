import { AppError } from '../../core/errors.ts';
import type { StartTimer } from './engine-process.ts';

/**
 * How many bytes a task may have told that its reader has not taken. Some five minutes of speech as WAV: a task that is no
 * longer never waits for its reader, and so does not keep its engine from others.
 */
export const mostUntakenBytes = 16 * 2 ** 20;
/** A reader that takes nothing, or next to nothing, for this long is given up. */
export const longestWaitMs = 60_000;

/** Flow control between a task and its reader: counts the bytes on their way, and has the task wait where they are too many. */
export class ReaderCredit {
  #untaken = 0;
  #wake: (() => void) | undefined;

  constructor(
    private readonly signal: AbortSignal,
    private readonly startTimer: StartTimer,
  ) {}

  told(bytes: number): void {
    this.#untaken += bytes;
  }

  taken(bytes: number): void {
    this.#untaken -= bytes;
    if (this.#untaken < mostUntakenBytes) this.#wake?.();
  }

  /** Resolves when more may be told, and when nobody wants more; rejects where the reader has stalled. */
  async room(): Promise<void> {
    if (this.#untaken < mostUntakenBytes || this.signal.aborted) return;
    await new Promise<void>((resolve, reject) => {
      const over = (settle: () => void) => (): void => {
        timer.cancel();
        this.signal.removeEventListener('abort', wake);
        this.#wake = undefined;
        settle();
      };
      const wake = over(resolve);
      const timer = this.startTimer(
        longestWaitMs,
        over(() => reject(new AppError('stopped', {}))),
      );
      this.#wake = wake;
      this.signal.addEventListener('abort', wake);
    });
  }
}
