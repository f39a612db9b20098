import type { Pulse } from './heartbeat.ts';

/** Bytes of a message. They use a separate pipe, in the order of their messages, because JSON cannot hold bytes. */
export type Attachments = readonly Uint8Array[];

/** A message that is delivered once its bytes have arrived; messages without bytes are sent as they are. */
interface Announced {
  readonly attachedBytes: readonly number[];
  readonly message: object;
}

export function announced(message: object, attachments: Attachments): object {
  if (attachments.length === 0) return message;
  return { attachedBytes: attachments.map(({ byteLength }) => byteLength), message } satisfies Announced;
}

const none: Attachments = [];

/** Joins messages and their bytes again. Later messages wait for the bytes of earlier ones. */
export class AttachmentReader {
  readonly #waiting: object[] = [];
  readonly #chunks: Uint8Array[] = [];
  #available = 0;

  constructor(private readonly deliver: (message: object, attachments: Attachments) => void) {}

  message(raw: object): void {
    if (this.#waiting.length === 0 && !isAnnounced(raw)) {
      this.deliver(raw, none);
      return;
    }
    this.#waiting.push(raw);
    this.#drain();
  }

  bytes(chunk: Uint8Array): void {
    this.#chunks.push(chunk);
    this.#available += chunk.byteLength;
    this.#drain();
  }

  #drain(): void {
    for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
      if (!isAnnounced(next)) {
        this.#waiting.shift();
        this.deliver(next, none);
        continue;
      }
      const { attachedBytes, message } = next;
      if (attachedBytes.reduce((sum, length) => sum + length, 0) > this.#available) return;
      this.#waiting.shift();
      const attachments = attachedBytes.map((length) => this.#take(length));
      this.deliver(message, attachments);
    }
  }

  #take(length: number): Uint8Array {
    const taken = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const chunk = this.#chunks[0] as Uint8Array;
      const part = chunk.subarray(0, length - filled);
      taken.set(part, filled);
      filled += part.byteLength;
      if (part.byteLength === chunk.byteLength) this.#chunks.shift();
      else this.#chunks[0] = chunk.subarray(part.byteLength);
    }
    this.#available -= length;
    return taken;
  }
}

function isAnnounced(raw: unknown): raw is Announced {
  return typeof raw === 'object' && raw !== null && 'attachedBytes' in raw;
}

/** The pipes of a worker beside its standard streams and the channel for messages (3). */
export const descriptors = { pulse: 4, attachments: 5 };

/** A line of a watchdog. */
export function pulseOf(line: string): Pulse {
  return line === 'hung' ? { hung: true, timeoutMs: 0 } : { hung: false, timeoutMs: Number(line) };
}

/** Joins chunks of any size to lines. */
export class LineReader {
  /** The last line, which has no end yet. */
  open = '';

  constructor(private readonly onLine: (line: string) => void) {}

  push(text: string): void {
    const lines = (this.open + text).split('\n');
    this.open = (lines.pop() ?? '').slice(-4096);
    for (const line of lines) this.onLine(line);
  }
}
