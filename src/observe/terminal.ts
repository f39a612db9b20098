/** Where lines for people go. */
export interface Output {
  readonly interactive: boolean;
  readonly columns: number;
  write(text: string): void;
}

const keptLines = 10;

/**
 * Lines, and one status line under them that changes in place on a terminal. In a log file nothing moves: a status is
 * not written there at all, and whoever reports progress says the milestones as lines.
 */
export class Terminal {
  #status = '';
  #latest: readonly string[] = [];

  constructor(private readonly output: Output) {}

  get interactive(): boolean {
    return this.output.interactive;
  }

  line(text = ''): void {
    this.#erase();
    this.output.write(`${text}\n`);
    this.#latest = [...this.#latest.slice(1 - keptLines), text];
  }

  /** Whether one of the latest lines ended so: what has been said need not be said again. */
  hasSaid(ending: string): boolean {
    return this.#latest.some((line) => line.endsWith(ending));
  }

  /** Replaces the status line. */
  status(text: string): void {
    if (!this.output.interactive) return;
    const fitting = text.slice(0, Math.max(10, this.output.columns - 1));
    const padding = ' '.repeat(Math.max(0, this.#status.length - fitting.length));
    this.output.write(`\r${fitting}${padding}`);
    this.#status = fitting;
  }

  /** Leaves the status line standing as it is and goes on below it. */
  keepStatus(): void {
    if (this.#status !== '') this.output.write('\n');
    this.#status = '';
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

interface Progress {
  /** Bytes that are here, and how many there will be where that is known. */
  readonly show: (done: number, total: number | undefined) => void;
}

/** How much of a file is here: a bar on a terminal, a line for each tenth in a log file. */
export function progressOf(terminal: Terminal, now: () => number): Progress {
  let started: { readonly at: number; readonly with: number } | undefined;
  let toldTenths = 0;
  return {
    show(done, total) {
      started ??= { at: now(), with: done };
      const seconds = (now() - started.at) / 1000;
      const speed = seconds > 1 ? `, ${((done - started.with) / 1e6 / seconds).toFixed(1)} MB/s` : '';
      const amount = `${(done / 1e6).toFixed(0)}${total === undefined ? '' : ` of ${(total / 1e6).toFixed(0)}`} MB${speed}`;
      terminal.status(total === undefined ? amount : `${progressBar(done / total)} ${amount}`);
      const tenths = total === undefined ? 0 : Math.floor((done / total) * 10);
      if (tenths <= toldTenths) return;
      toldTenths = tenths;
      if (!terminal.interactive) terminal.line(`${tenths * 10}% (${amount})`);
    },
  };
}

/** What is needed of a standard stream. */
interface TextStream {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  /** What was written and nobody has read yet, in bytes or characters. */
  readonly writableLength: number;
  write(text: string): unknown;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
}

/** Whoever read is gone, and so is the log. After any other failure (a full disk) the next line is tried again. */
const endings: ReadonlySet<string | undefined> = new Set([
  'EPIPE',
  'EIO',
  'EBADF',
  'ECONNRESET',
  'ERR_STREAM_DESTROYED',
]);

/** A reader that stands still gets no more than this until it reads on: what it does not read lies in our memory. */
const mostUnread = 1024 * 1024;

/** Writes to a standard stream for as long as that works. Whatever becomes of the log, the server goes on without it. */
export function streamOutput(stream: TextStream, { moving }: { readonly moving: boolean }): Output {
  let gone = false;
  let leftOut = 0;
  stream.on('error', ({ code }) => {
    gone ||= endings.has(code);
  });
  return {
    interactive: moving && stream.isTTY === true,
    get columns() {
      return stream.columns ?? 80;
    },
    write(text) {
      if (gone) return;
      if (stream.writableLength > mostUnread) {
        leftOut += 1;
        return;
      }
      if (leftOut > 0) stream.write(`[${leftOut} lines were left out here: nobody read them.]\n`);
      leftOut = 0;
      stream.write(text);
    },
  };
}
