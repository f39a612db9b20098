import { type LogLevel, LogTail } from './log-tail.ts';

interface Output {
  readonly interactive: boolean;
  readonly columns: number;
  write(text: string): void;
}

const keptLines = 10;

/** Fields of a line in a structured log, besides its text. */
export interface LineFacts {
  readonly level?: LogLevel;
  /** `message` by default. */
  readonly event?: string;
  readonly [field: string]: unknown;
}

/** Lines, and below them one status line that changes in place. The status is not written to log files. */
export class Terminal {
  #status = '';
  #latest: readonly string[] = [];
  /** Its last lines, for the model panel of the page. */
  readonly log = new LogTail(Date.now);

  constructor(protected readonly output: Output) {}

  get interactive(): boolean {
    return this.output.interactive;
  }

  /** The facts are for structured logs only. */
  line(text = '', facts: LineFacts = {}): void {
    this.#erase();
    this.log.add(text, facts.level);
    this.print(text, facts);
    this.#latest = [...this.#latest.slice(1 - keptLines), text];
  }

  protected print(text: string, _facts: LineFacts): void {
    this.output.write(`${text}\n`);
  }

  /** Whether one of the latest lines ended so, to avoid repetition. */
  hasPrinted(ending: string): boolean {
    return this.#latest.some((line) => line.endsWith(ending));
  }

  /** An empty text removes the status. */
  status(text: string): void {
    if (!this.output.interactive) return;
    if (text === '') {
      this.#erase();
      return;
    }
    const fitting = text.slice(0, Math.max(10, this.output.columns - 1));
    const padding = ' '.repeat(Math.max(0, this.#status.length - fitting.length));
    this.output.write(`\r${fitting}${padding}`);
    this.#status = fitting;
  }

  #erase(): void {
    if (this.#status !== '') this.output.write(`\r${' '.repeat(this.#status.length)}\r`);
    this.#status = '';
  }
}

export function progressBar(fraction: number, width = 30): string {
  const filled = Math.round(Math.max(0, Math.min(1, fraction)) * width);
  return `[${'█'.repeat(filled)}${'░'.repeat(width - filled)}] ${Math.floor(fraction * 100)}%`;
}

/** Shows the progress of a download: a bar on a terminal, a line per tenth in a log file. */
export function downloadProgress(terminal: Terminal, now: () => number, name = 'Download') {
  let started: { readonly at: number; readonly done: number } | undefined;
  let loggedTenths = 0;
  terminal.status(`${name}: connecting …`);
  /** Bytes so far, and in total if known. */
  return (done: number, total: number | undefined): void => {
    started ??= { at: now(), done };
    const seconds = (now() - started.at) / 1000;
    const speed = seconds > 1 ? `, ${((done - started.done) / 1e6 / seconds).toFixed(1)} MB/s` : '';
    const amount = `${(done / 1e6).toFixed(0)}${total === undefined ? '' : ` of ${(total / 1e6).toFixed(0)}`} MB${speed}`;
    const bar = total === undefined ? '' : `${progressBar(done / total)} `;
    // Once everything is here it is checked and unpacked, which takes a while.
    terminal.status(done === total ? `${name}: checking …` : `${name} ${bar}${amount}`);
    const tenths = total === undefined ? 0 : Math.floor((done / total) * 10);
    if (tenths <= loggedTenths) return;
    loggedTenths = tenths;
    if (!terminal.interactive) terminal.line(`${name}: ${tenths * 10}% (${amount})`);
  };
}

interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  readonly writableLength: number;
  write(text: string): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/** Errors after which nothing is written; after others (a full disk) the next line is tried. */
const fatalCodes = new Set<string | undefined>(['EPIPE', 'EIO', 'EBADF', 'ECONNRESET', 'ERR_STREAM_DESTROYED']);

/** Unread bytes from which lines are dropped, because they are kept in memory. */
const maxUnreadBytes = 1024 * 1024;

interface OutputOptions {
  /** Whether a status line may change in place. */
  readonly moving: boolean;
  /** The line in the place of lines that were dropped. */
  readonly leftOutLine?: (count: number) => string;
}

export const leftOutSentence = (count: number): string => `[${count} lines were left out here: nobody read them.]`;

/** Writes to a standard stream while that works; failures of the log do not affect the server. */
export function streamOutput(stream: TextStream, { moving, leftOutLine = leftOutSentence }: OutputOptions): Output {
  let isClosed = false;
  let leftOut = 0;
  stream.on('error', ({ code }) => {
    isClosed ||= fatalCodes.has(code);
  });
  return {
    interactive: moving && stream.isTTY === true,
    get columns() {
      // Some terminals report 0.
      return stream.columns || 80;
    },
    write(text) {
      if (isClosed) return;
      if (stream.writableLength > maxUnreadBytes) {
        leftOut += 1;
        return;
      }
      if (leftOut > 0) stream.write(`${leftOutLine(leftOut)}\n`);
      leftOut = 0;
      stream.write(text);
    },
  };
}
