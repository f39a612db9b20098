import type { Output } from './terminal.ts';

/** What is needed of a standard stream. */
export interface TextStream {
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
