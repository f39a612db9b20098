import { fileURLToPath } from 'node:url';
import type { ExtractedDocument } from '../core/documents.ts';
import { AppError, reviveError } from '../core/errors.ts';
import { type StartTimer, systemTimer } from '../core/timers.ts';
import { type Child, type ChildExit, type Spawn, spawnChild } from '../engines/host/child.ts';
import {
  type ExtractionLimits,
  type FromExtractor,
  maxDocumentBytes,
  processMegabytes,
  type ToExtractor,
} from './extraction/messages.ts';

export type { ExtractionLimits } from './extraction/messages.ts';

/** An idle process ends after this time. */
const idleMs = 30_000;
const graceMs = 1000;
/** A process that has grown beyond this is not used again. */
const maxReusableMegabytes = 300;
/** A process that is lost may be no fault of the document: it is read again. */
const maxAttempts = 2;

const defaultLimits: ExtractionLimits = {
  fileBytes: maxDocumentBytes,
  milliseconds: 120_000,
  totalMilliseconds: 30 * 60_000,
  heapMegabytes: 512,
  characters: 50_000_000,
};

type DocumentSource = { readonly path: string } | { readonly bytes: Uint8Array };

interface ExtractOptions {
  readonly signal: AbortSignal;
  readonly limits?: Partial<ExtractionLimits>;
}

interface ExtractorOptions {
  readonly entry?: string;
  readonly spawn?: Spawn;
  readonly startTimer?: StartTimer;
  /** Processes at the same time, so that a file of a request need not wait for one of a folder. */
  readonly atOnce?: number;
}

/** Reads documents in processes of their own, which are started on demand and ended when a document is beyond its limits. */
export class DocumentExtractor {
  readonly #idle: ExtractorProcess[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(private readonly options: ExtractorOptions = {}) {}

  /** Throws `document-unreadable` with the reason. */
  async extract(name: string, source: DocumentSource, options: ExtractOptions): Promise<ExtractedDocument> {
    const { signal } = options;
    const limits = { ...defaultLimits, ...options.limits };
    await this.#turn(signal);
    try {
      for (let attempt = 1; ; attempt += 1) {
        signal.throwIfAborted();
        const process = this.#process(limits.heapMegabytes);
        try {
          return await process.extract(name, source, limits, signal);
        } catch (error) {
          if (!(error instanceof ProcessLost)) throw error;
          if (attempt < maxAttempts) continue;
          const reason = `the process that reads it ended twice (${error.message}). ${whatHelps}`;
          throw unreadable(name, reason, 'interrupted');
        } finally {
          if (process.isReusable) this.#park(process);
        }
      }
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Ends the idle processes. The next document starts another. */
  async stop(): Promise<void> {
    await Promise.all(this.#idle.splice(0).map((process) => process.stop()));
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running >= (this.options.atOnce ?? 2)) {
      await new Promise<void>((resolve, reject) => {
        const turn = (): void => {
          signal.removeEventListener('abort', aborted);
          resolve();
        };
        const aborted = (): void => {
          this.#waiting.splice(this.#waiting.indexOf(turn), 1);
          reject(signal.reason);
        };
        signal.addEventListener('abort', aborted);
        this.#waiting.push(turn);
      });
    }
    this.#running += 1;
  }

  #process(heapMegabytes: number): ExtractorProcess {
    const process = this.#idle.findLast((idle) => idle.isReusable && idle.heapMegabytes === heapMegabytes);
    if (!process) return new ExtractorProcess(heapMegabytes, this.options);
    this.#idle.splice(this.#idle.indexOf(process), 1);
    process.idleTimer?.cancel();
    return process;
  }

  #park(process: ExtractorProcess): void {
    this.#idle.push(process);
    process.idleTimer = (this.options.startTimer ?? systemTimer)(idleMs, () => {
      this.#idle.splice(this.#idle.indexOf(process), 1);
      void process.stop();
    });
  }
}

/** The process ended without an answer. */
class ProcessLost extends Error {}

const whatHelps = 'If memory is short, close other programs, and have the file read again';

interface Task {
  readonly name: string;
  readonly limits: ExtractionLimits;
  /** Something more of the document is read. */
  readonly progressed: () => void;
  readonly resolve: (document: ExtractedDocument) => void;
  readonly reject: (error: unknown) => void;
}

/** Reads one document at a time. */
class ExtractorProcess {
  idleTimer: { cancel(): void } | undefined;
  readonly #child: Child<ToExtractor>;
  readonly #startTimer: StartTimer;
  #task: Task | undefined;
  #state: 'fresh' | 'large' | 'ended' = 'fresh';

  constructor(
    readonly heapMegabytes: number,
    { entry = workerEntry, spawn = spawnChild, startTimer = systemTimer }: ExtractorOptions,
  ) {
    this.#startTimer = startTimer;
    this.#child = spawn<ToExtractor, FromExtractor>(
      entry,
      { message: (message, [text]) => this.#received(message, text), exit: (exit) => this.#exited(exit) },
      [`--max-old-space-size=${heapMegabytes}`],
    );
  }

  get isReusable(): boolean {
    return this.#state === 'fresh';
  }

  async extract(
    name: string,
    source: DocumentSource,
    limits: ExtractionLimits,
    signal: AbortSignal,
  ): Promise<ExtractedDocument> {
    const end = (reason: unknown): void => {
      this.#fail(reason);
      this.#child.kill();
    };
    const aborted = (): void => end(signal.reason);
    const { milliseconds, totalMilliseconds } = limits;
    const tooLong = (rule: string, limit: number) => () =>
      end(unreadable(name, `${rule} ${Math.round(limit / 1000)} seconds: split it into smaller files`));
    const total = this.#startTimer(totalMilliseconds, tooLong('reading it took longer than', totalMilliseconds));
    const stuck = this.#startTimer(milliseconds, tooLong('reading it made no progress for', milliseconds));
    signal.addEventListener('abort', aborted);
    try {
      return await new Promise((resolve, reject) => {
        this.#task = { name, limits, progressed: () => stuck.restart(), resolve, reject };
        const message = { name, limits };
        if ('path' in source) this.#child.send({ ...message, path: source.path });
        else this.#child.send(message, [source.bytes]);
      });
    } finally {
      total.cancel();
      stuck.cancel();
      signal.removeEventListener('abort', aborted);
      if (this.#state === 'large') void this.stop();
    }
  }

  stop(): Promise<void> {
    this.idleTimer?.cancel();
    this.#state = 'ended';
    return this.#child.stop(graceMs);
  }

  #received(message: FromExtractor, text: Uint8Array | undefined): void {
    if (message.type === 'progress') {
      this.#task?.progressed();
      return;
    }
    if (message.megabytes > maxReusableMegabytes) this.#state = 'large';
    const task = this.#task;
    this.#task = undefined;
    if (message.type === 'failed') task?.reject(reviveError(message.error));
    else task?.resolve({ ...message.document, text: new TextDecoder().decode(text) });
  }

  #exited(exit: ChildExit): void {
    const { name = '', limits } = this.#task ?? {};
    const isMemory = exit.lastLines.some((line) => /out of memory/i.test(line));
    const megabytes = limits && processMegabytes(limits);
    this.#fail(
      isMemory
        ? unreadable(name, `it needs more than ${megabytes} MB of memory: split it into smaller files`)
        : new ProcessLost(exit.unstarted?.reason ?? exit.signal ?? `code ${exit.code}`),
    );
  }

  #fail(reason: unknown): void {
    this.#state = 'ended';
    this.#task?.reject(reason);
    this.#task = undefined;
  }
}

function unreadable(name: string, reason: string, kind: 'invalid' | 'interrupted' = 'invalid'): AppError {
  return new AppError('document-unreadable', { name, reason, kind });
}

const workerEntry = fileURLToPath(new URL('./extraction/worker.js', import.meta.url));

const shared = new DocumentExtractor();

/** The text of a file, read in a process of its own. */
export const extractDocument: DocumentExtractor['extract'] = (...task) => shared.extract(...task);

/** Ends the idle processes, before the program ends. */
export const stopExtraction = (): Promise<void> => shared.stop();
