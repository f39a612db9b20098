import { AppError } from '../../core/errors.ts';
import type { CrashSuspects } from './crash-suspects.ts';
import { tickMs } from './stall.ts';

/** Work that an engine does for a request, from its first message to its last event. */
export interface Undertaking {
  /** What was asked for, whoever asks and however often. Looked at only after a crash: to read a long request takes time. */
  fingerprint(): string;
  begin(id: number): void;
  abort(id: number): void;
  /** It was stopped before it began. */
  withdrawn(): void;
  lost(error: AppError, id: number): void;
}

interface Entry {
  readonly work: Undertaking;
  alone: boolean;
  /** Since it was asked to stop; nothing while nobody has asked. */
  abortedMs: number | undefined;
}

/** How long work that was asked to stop may go on. */
const graceMs = 10_000;

/**
 * What an engine has been asked to do: some of it runs, and some is held, because the engine is not there yet or because
 * something runs that must be alone. Nobody who is held is overtaken.
 */
export class Undertakings {
  readonly #held = new Map<number, Undertaking>();
  readonly #running = new Map<number, Entry>();

  constructor(
    private readonly capability: string,
    private readonly suspects: CrashSuspects,
  ) {}

  hold(id: number, work: Undertaking): void {
    this.#held.set(id, work);
  }

  /** Begins what may run now; called when the engine is ready. */
  beginHeld(): void {
    for (const [id, work] of [...this.#held]) {
      const verdict = this.suspects.size === 0 ? 'free' : this.suspects.verdict(work.fingerprint());
      const alone = verdict === 'alone';
      const others = [...this.#running.values()];
      if (verdict !== 'refused' && (others.some((other) => other.alone) || (alone && others.length > 0))) return;
      this.#held.delete(id);
      if (verdict === 'refused') {
        work.lost(new AppError('request-ends-engine', { capability: this.capability }), id);
        continue;
      }
      this.#running.set(id, { work, alone, abortedMs: undefined });
      work.begin(id);
    }
  }

  abort(id: number): void {
    const held = this.#held.get(id);
    if (held) {
      this.#held.delete(id);
      held.withdrawn();
      return;
    }
    const entry = this.#running.get(id);
    if (!entry) return;
    entry.abortedMs ??= 0;
    entry.work.abort(id);
  }

  /** It has come to its end. One that was stopped says nothing about what would have become of it. */
  ended(id: number): void {
    const entry = this.#running.get(id);
    if (!entry) return;
    this.#running.delete(id);
    if (this.suspects.size > 0 && entry.abortedMs === undefined) this.suspects.survived(entry.work.fingerprint());
  }

  /** Half a second has passed. Whether work that was asked to stop goes on for longer than a sound engine lets it. */
  tick(patienceMs: number): boolean {
    let stuck = false;
    for (const entry of this.#running.values()) {
      if (entry.abortedMs === undefined) continue;
      entry.abortedMs += tickMs;
      stuck ||= entry.abortedMs > Math.max(graceMs, patienceMs);
    }
    return stuck;
  }

  /** The engine died: what ran is lost and remembered. What is held waits on. */
  crashed(error: AppError): void {
    const running = [...this.#running];
    this.#running.clear();
    this.suspects.crashed(running.map(([, { work }]) => work.fingerprint()));
    for (const [id, { work }] of running) work.lost(error, id);
  }

  /** Nothing will come of all this, and nothing of it is to blame. */
  giveUp(error: AppError): void {
    const all = [...this.#held];
    for (const [id, { work }] of this.#running) all.push([id, work]);
    this.#running.clear();
    this.#held.clear();
    for (const [id, work] of all) work.lost(error, id);
  }
}
