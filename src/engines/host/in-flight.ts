import { createHash } from 'node:crypto';
import { AppError } from '../../core/errors.ts';
import { tickMs } from './heartbeat.ts';

/** Work that an engine does for a request, from its first message to its last event. */
export interface InFlightTask {
  /** What was asked for, whoever asks and however often. Looked at only after a crash: to read a long request takes time. */
  fingerprint(): string;
  begin(id: number): void;
  abort(id: number): void;
  /** It was stopped before it began. */
  withdrawn(): void;
  lost(error: AppError, id: number): void;
}

interface Entry {
  readonly work: InFlightTask;
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
export class InFlightTasks {
  readonly #held = new Map<number, InFlightTask>();
  readonly #running = new Map<number, Entry>();

  constructor(
    private readonly capability: string,
    private readonly suspects: CrashSuspects,
  ) {}

  hold(id: number, work: InFlightTask): void {
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

/** `free` runs as it comes, `alone` with nobody beside it, and `refused` not at all. */
type Verdict = 'free' | 'alone' | 'refused';

/** A few requests at most bring an engine down; whoever made more of them has them tried again. */
const longestMemory = 100;

/**
 * Who is to blame when an engine dies, told by the fingerprints of requests. All that ran are suspects, and a suspect runs
 * alone the next time: if the engine dies again it was this one, and if not, it was somebody else. So nobody is refused who
 * did not end the engine in both of its last two runs, the second time with nobody beside it.
 */
export class CrashSuspects {
  readonly #known = new Map<string, Exclude<Verdict, 'free'>>();

  get size(): number {
    return this.#known.size;
  }

  verdict(request: string): Verdict {
    return this.#known.get(request) ?? 'free';
  }

  /** The engine died while these ran. */
  crashed(running: readonly string[]): void {
    const requests = new Set(running);
    for (const request of requests) {
      const guilty = this.#known.has(request) && requests.size === 1;
      this.#remember(request, guilty ? 'refused' : 'alone');
    }
  }

  /** It came to an end of its own, and the engine lives. */
  survived(request: string): void {
    this.#known.delete(request);
  }

  #remember(request: string, verdict: 'alone' | 'refused'): void {
    if (this.#known.get(request) === 'refused') return;
    this.#known.delete(request);
    this.#known.set(request, verdict);
    const [oldest] = this.#known.keys();
    if (this.#known.size > longestMemory && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** The same for the same content, in whatever order its fields stand; fields without a value do not count. */
export function fingerprint(content: unknown): string {
  return createHash('sha256').update(canonical(content)).digest('base64url');
}

function canonical(content: unknown): string {
  return JSON.stringify(content, (_, value: unknown) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

interface Question {
  readonly resolve: (value: never) => void;
  readonly reject: (error: AppError) => void;
  waitedMs: number;
}

/** To count the tokens of a book takes seconds; nothing that is asked takes minutes. */
const longestAnswerMs = 120_000;

/** What was asked of an engine and is not answered yet. Each question ends: with its answer, an error, or its time. */
export class PendingCalls {
  readonly #open = new Map<number, Question>();

  constructor(private readonly capability: string) {}

  ask<Answer>(id: number): Promise<Answer> {
    return new Promise((resolve, reject) => this.#open.set(id, { resolve, reject, waitedMs: 0 }));
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

  /** Half a second has passed; a step that is being done may take so long. */
  tick(patienceMs: number): void {
    for (const [id, question] of [...this.#open]) {
      question.waitedMs += tickMs;
      if (question.waitedMs <= Math.max(longestAnswerMs, patienceMs)) continue;
      this.refuse(id, new AppError('engine-silent', { capability: this.capability }));
    }
  }

  #close(id: number): Question | undefined {
    const question = this.#open.get(id);
    this.#open.delete(id);
    return question;
  }
}
