import { AppError } from '../core/errors.ts';
import type { Reply, StatusComments } from './call.ts';
import { type EventFormat, EventNumbers } from './number-events.ts';

type StreamReply = Extract<Reply, { stream: unknown }>;

/** Observer of a stream, for the store that keeps it. Must not throw. */
interface StreamObserver {
  /** The memory of its events has changed by this many bytes. */
  grown(bytes: number): void;
  /** It has its last event. */
  ended(): void;
}

/** A reader gets as many events at once as fit into a few packets. */
const maxChunkLength = 16_384;
/** Without readers, the source is read this many times before the event loop continues. */
const maxRun = 256;
/** As it is sent, and what a string in an array takes. */
const sizeOf = (event: string): number => Buffer.byteLength(event) + 64;

/**
 * The numbered events of a reply, read by any number of readers, each at its own pace. With readers the source is read when one of
 * them waits for the next event, so that back-pressure reaches the engine; without readers it is read to its end.
 *
 * Beyond its limit of memory it forgets its oldest events. A reader that still needs them is cut off: its response is incomplete,
 * never wrong.
 */
export class ResumableStream {
  #events: string[] = [];
  /** The number of the first event that is kept. */
  #first = 1;
  #bytes = 0;
  /** Comments after the last event. */
  #tail = '';
  #over = false;
  #failure: { readonly reason: unknown } | undefined;
  #pulling = false;
  #run = 0;
  readonly #readers = new Set<Reader>();
  readonly #numbers: EventNumbers;
  readonly #iterator: AsyncIterator<string | Uint8Array>;
  readonly #decoder = new TextDecoder();
  #status = '';
  #statusVersion = 0;

  constructor(
    readonly reply: StreamReply,
    format: EventFormat,
    private readonly maxBytes: number,
    private readonly observer: StreamObserver,
  ) {
    this.#numbers = new EventNumbers(format);
    this.#iterator = reply.stream[Symbol.asyncIterator]();
  }

  get running(): boolean {
    return !this.#over;
  }

  get readers(): number {
    return this.#readers.size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Number of the last event so far. */
  get last(): number {
    return this.#first + this.#events.length - 1;
  }

  /** The events after this number, then those that follow until the end. Throws if they are not kept, or there is no such event. */
  follow(after: number): Reply {
    this.#check(after);
    if (this.#over && after === this.last) return nothingLeft;
    const { status, headers = {}, keepAlive, statusComments } = this.reply;
    const reader = new Reader(after + 1, this);
    this.#readers.add(reader);
    return {
      status,
      headers: { ...headers, 'x-parley-resumable': '1' },
      stream: reader,
      ...(keepAlive ? { keepAlive } : {}),
      ...(statusComments ? { statusComments: this.#statusFor(statusComments) } : {}),
    };
  }

  /** The events after this number that are there. */
  soFar(after: number): Reply {
    this.#check(after);
    const comment = this.#over || this.#pollStatus() === undefined ? '' : this.#status;
    const body = comment + this.#events.slice(after + 1 - this.#first).join('') + (this.#over ? this.#tail : '');
    if (after === this.last && comment === '') return nothingLeft;
    const { status, headers = {} } = this.reply;
    return { status, headers: { ...headers, 'x-parley-resumable': '1' }, body };
  }

  /** Drops its oldest events: at least this many bytes, or all. */
  forget(bytes: number): void {
    let count = 0;
    let freed = 0;
    while (freed < bytes && count < this.#events.length) {
      freed += sizeOf(this.#events[count] as string);
      count += 1;
    }
    this.#events.splice(0, count);
    this.#first += count;
    this.#bytes -= freed;
    this.observer.grown(-freed);
  }

  /** Ends it at once, as incomplete. */
  fail(reason: unknown): void {
    if (this.#over) return;
    // Not awaited: a generator returns only after its pending step. Its errors no longer matter.
    Promise.resolve(this.#iterator.return?.()).catch(() => undefined);
    this.#end({ reason });
  }

  #check(after: number): void {
    if (after > this.last) throw new AppError('stream-number', { number: after, last: this.last });
    if (after + 1 < this.#first) throw new AppError('stream-forgotten', { first: this.#first });
    if (this.#failure && after === this.last) throw new AppError('stream-broken', {});
  }

  /** The next events of a reader; undefined if it has to wait. Throws if there will be none. */
  step(reader: Reader): IteratorResult<string> | undefined {
    if (reader.position < this.#first) throw new AppError('stream-forgotten', { first: this.#first });
    let index = reader.position - this.#first;
    if (index < this.#events.length) {
      let text = this.#events[index] as string;
      for (index += 1; index < this.#events.length && text.length < maxChunkLength; index += 1)
        text += this.#events[index];
      reader.position = this.#first + index;
      return { done: false, value: text };
    }
    if (!this.#over) return undefined;
    this.#readers.delete(reader);
    if (this.#failure) throw this.#failure.reason;
    if (this.#tail === '' || reader.sentTail) return { done: true, value: undefined };
    reader.sentTail = true;
    return { done: false, value: this.#tail };
  }

  /** Reads the source, if that is needed now. */
  pull(): void {
    if (this.#pulling || this.#over) return;
    if (!this.#isWanted()) return;
    this.#pulling = true;
    this.#run = this.#readers.size > 0 ? 0 : this.#run + 1;
    if (this.#run > maxRun) {
      this.#run = 0;
      setImmediate(this.#read);
    } else this.#read();
  }

  leave(reader: Reader): void {
    if (this.#readers.delete(reader)) this.pull();
  }

  /** There is no reader, or a reader waits. */
  #isWanted(): boolean {
    for (const { waits } of this.#readers) if (waits) return true;
    return this.#readers.size === 0;
  }

  readonly #read = (): void => {
    if (this.#over) return;
    try {
      this.#iterator.next().then(this.#take, this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  };

  readonly #failed = (reason: unknown): void => this.#end({ reason });

  readonly #take = ({ done, value }: IteratorResult<string | Uint8Array>): void => {
    this.#pulling = false;
    if (this.#over) return;
    if (done) {
      this.#end(undefined);
      return;
    }
    let added = 0;
    for (const event of this.#numbers.push(this.#textOf(value))) {
      this.#events.push(event);
      added += sizeOf(event);
    }
    // Readers that wait get the events before they can be forgotten.
    this.#wake();
    this.#grow(added);
    this.pull();
  };

  #textOf(piece: string | Uint8Array): string {
    return typeof piece === 'string' ? piece : this.#decoder.decode(piece, { stream: true });
  }

  #grow(bytes: number): void {
    this.#bytes += bytes;
    this.observer.grown(bytes);
    // An eighth more than needed, so that it is not done for each event.
    if (this.#bytes > this.maxBytes) this.forget(this.#bytes - this.maxBytes + this.maxBytes / 8);
  }

  #end(failure: { readonly reason: unknown } | undefined): void {
    if (this.#over) return;
    this.#over = true;
    this.#failure = failure;
    this.#tail = this.#numbers.end();
    this.#wake();
    this.observer.ended();
  }

  #wake(): void {
    for (const reader of [...this.#readers]) reader.wake();
  }

  /** Each reader gets each change of the status once; the first at once. */
  #statusFor(source: StatusComments): StatusComments {
    let seen = 0;
    return {
      milliseconds: source.milliseconds,
      next: () => {
        const now = this.#pollStatus();
        if (now === undefined || seen === this.#statusVersion) return now;
        seen = this.#statusVersion;
        return this.#status;
      },
    };
  }

  /** Undefined if there will be no more status. */
  #pollStatus(): string | undefined {
    const text = this.reply.statusComments?.next();
    if (!text) return text;
    this.#status = text;
    this.#statusVersion += 1;
    return '';
  }
}

/** Tells `EventSource` not to connect again. */
const nothingLeft: Reply = { status: 204, body: '' };

class Reader implements AsyncIterable<string>, AsyncIterator<string> {
  sentTail = false;
  #waiting: { resolve(result: IteratorResult<string>): void; reject(reason: unknown): void } | undefined;

  constructor(
    /** Number of the event that it gets next. */
    public position: number,
    private readonly stream: ResumableStream,
  ) {}

  get waits(): boolean {
    return this.#waiting !== undefined;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<string>> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.wake();
      if (this.#waiting) this.stream.pull();
    });
  }

  return(): Promise<IteratorResult<string>> {
    this.#waiting?.resolve({ done: true, value: undefined });
    this.#waiting = undefined;
    this.stream.leave(this);
    return Promise.resolve({ done: true, value: undefined });
  }

  /** Called when there may be something to read. */
  wake(): void {
    const waiting = this.#waiting;
    if (!waiting) return;
    try {
      const step = this.stream.step(this);
      if (!step) return;
      this.#waiting = undefined;
      waiting.resolve(step);
    } catch (error) {
      this.#waiting = undefined;
      this.stream.leave(this);
      waiting.reject(error);
    }
  }
}
