import { createHash } from 'node:crypto';
import { AppError } from '../../core/errors.ts';
import { type Deferred, deferred } from '../../core/synchronization.ts';
import { tickMs } from './heartbeat.ts';

/** A task of an engine, from its first message to its last event. */
export interface InFlightTask {
  /** Identifies equal requests. Computed only after a crash, because hashing a long request takes time. */
  fingerprint(): string;
  begin(id: number): void;
  abort(id: number): void;
  /** It was aborted before it began. */
  withdrawn(): void;
  lost(error: AppError, id: number): void;
}

interface Entry {
  readonly work: InFlightTask;
  alone: boolean;
  /** Time since its abort; undefined unless it was aborted. */
  abortedMs: number | undefined;
}

/** How long an aborted task may go on. */
const graceMs = 10_000;

/** The tasks of an engine: running ones, and held ones that wait until the engine is ready or a task that must run alone has ended. Held tasks start in order. */
export class InFlightTasks {
  readonly #held = new Map<number, InFlightTask>();
  readonly #running = new Map<number, Entry>();
  readonly #suspects = new CrashSuspects();

  constructor(private readonly capability: string) {}

  hold(id: number, work: InFlightTask): void {
    this.#held.set(id, work);
  }

  /** Starts held tasks that may run now. Called when the engine is ready. */
  beginHeld(): void {
    for (const [id, work] of [...this.#held]) {
      const verdict = this.#suspects.size === 0 ? 'free' : this.#suspects.verdict(work.fingerprint());
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

  /** A task that was aborted is not proved harmless. */
  ended(id: number): void {
    const entry = this.#running.get(id);
    if (!entry) return;
    this.#running.delete(id);
    if (this.#suspects.size > 0 && entry.abortedMs === undefined) this.#suspects.survived(entry.work.fingerprint());
  }

  /** Called every half second: whether an aborted task runs longer than it may. */
  tick(timeoutMs: number): boolean {
    let stuck = false;
    for (const entry of this.#running.values()) {
      if (entry.abortedMs === undefined) continue;
      entry.abortedMs += tickMs;
      stuck ||= entry.abortedMs > Math.max(graceMs, timeoutMs);
    }
    return stuck;
  }

  /** The engine crashed: running tasks are lost and become suspects; held ones stay. */
  crashed(error: AppError): void {
    const running = [...this.#running];
    this.#running.clear();
    this.#suspects.crashed(running.map(([, { work }]) => work.fingerprint()));
    for (const [id, { work }] of running) work.lost(error, id);
  }

  /** Rejects all tasks, without making them suspects. */
  giveUp(error: AppError): void {
    const all = [...this.#held];
    for (const [id, { work }] of this.#running) all.push([id, work]);
    this.#running.clear();
    this.#held.clear();
    for (const [id, work] of all) work.lost(error, id);
  }
}

/** How a task may run: with others, alone, or not at all. */
type Verdict = 'free' | 'alone' | 'refused';

/** Only the latest suspects are remembered. */
const maxKnown = 100;

/** Finds the request that crashes an engine: each one that ran during a crash runs alone next, and is then refused or cleared. */
export class CrashSuspects {
  readonly #known = new Map<string, Exclude<Verdict, 'free'>>();

  get size(): number {
    return this.#known.size;
  }

  verdict(request: string): Verdict {
    return this.#known.get(request) ?? 'free';
  }

  /** The engine crashed while these ran. */
  crashed(running: readonly string[]): void {
    const requests = new Set(running);
    for (const request of requests) {
      const guilty = this.#known.has(request) && requests.size === 1;
      this.#remember(request, guilty ? 'refused' : 'alone');
    }
  }

  /** It ended by itself, and the engine did not crash. */
  survived(request: string): void {
    this.#known.delete(request);
  }

  #remember(request: string, verdict: 'alone' | 'refused'): void {
    if (this.#known.get(request) === 'refused') return;
    this.#known.delete(request);
    this.#known.set(request, verdict);
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** Equal for equal content. The order of fields does not matter, and undefined fields do not count. */
export function fingerprint(content: unknown): string {
  const canonical = JSON.stringify(content, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return createHash('sha256').update(canonical).digest('base64url');
}

interface PendingCall extends Omit<Deferred<never>, 'promise'> {
  waitedMs: number;
}

/** Tokenizing a book takes seconds; no call takes minutes. */
const maxAnswerMs = 120_000;

/** Calls to an engine that are not answered yet. Each one ends with an answer, an error or a time-out. */
export class PendingCalls {
  readonly #open = new Map<number, PendingCall>();

  constructor(private readonly capability: string) {}

  add<Answer>(id: number): Promise<Answer> {
    const { promise, ...settle } = deferred<Answer>();
    this.#open.set(id, { ...settle, waitedMs: 0 });
    return promise;
  }

  answer(id: number, value: unknown): void {
    this.#close(id)?.resolve(value as never);
  }

  refuse(id: number, error: AppError): void {
    this.#close(id)?.reject(error);
  }

  refuseAll(error: AppError): void {
    for (const id of [...this.#open.keys()]) this.refuse(id, error);
  }

  /** Called every half second. `timeoutMs`: of the current step. */
  tick(timeoutMs: number): void {
    for (const [id, call] of [...this.#open]) {
      call.waitedMs += tickMs;
      if (call.waitedMs <= Math.max(maxAnswerMs, timeoutMs)) continue;
      this.refuse(id, new AppError('engine-silent', { capability: this.capability }));
    }
  }

  #close(id: number): PendingCall | undefined {
    const call = this.#open.get(id);
    this.#open.delete(id);
    return call;
  }
}
