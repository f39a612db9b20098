import { type AbortCause, Aborted, unlessAborted } from '../core/abort.ts';
import { AppError } from '../core/errors.ts';
import { heapShare } from '../core/memory.ts';
import { entryToDrop, type Owner, ownerOf } from '../core/owner.ts';
import { type Deferred, deferred } from '../core/synchronization.ts';
import type { StartTimer, Timer } from '../core/timers.ts';
import type { Call, Reply } from './call.ts';
import { eventFormat } from './number-events.ts';
import { ResumableStream } from './resumable-stream.ts';

export interface StreamLimits {
  /** Of the events of one stream, as they are sent. */
  readonly streamBytes: number;
  readonly totalBytes: number;
  readonly streams: number;
  /** How long a stream is kept after its end. */
  readonly keepMs: number;
  /** After a cancellation: how long the stream may take to end by itself, with the last event of its dialect. */
  readonly cancelMs: number;
}

const streamLimits: StreamLimits = {
  streamBytes: 8 * 2 ** 20,
  totalBytes: heapShare(64 * 2 ** 20),
  streams: 256,
  keepMs: 5 * 60_000,
  cancelMs: 5000,
};

/** Long enough that it cannot be guessed. */
const nameForm = /^[\w.-]{16,64}$/;

/**
 * What the header `x-parley-resumable` asks for. With `1` the stream is known by the id of the request, so that it continues without its
 * client once the response has begun. With a name that the client has chosen, it continues without its client from the beginning.
 */
function requestedBy({ headers }: Pick<Call, 'headers'>): { readonly name?: string } | undefined {
  const sent = headers['x-parley-resumable'];
  if (sent === '1') return {};
  return typeof sent === 'string' && nameForm.test(sent) ? { name: sent } : undefined;
}

/** A request whose stream can be resumed. */
export type ResumableCall = NonNullable<ReturnType<ResumableStreams['accept']>>;

interface Entry {
  readonly id: string;
  /** Only its owner may resume or stop a stream. */
  readonly owner: Owner;
  readonly name: string | undefined;
  readonly controller: AbortController;
  /** Resolves when the reply is there: with it, if it is whole. */
  readonly settled: Promise<Reply | undefined>;
  /** Resolves when its stream has its last event. */
  readonly ended: Deferred<void>;
  stream?: ResumableStream;
  timer?: Timer;
}

interface StreamsDeps {
  readonly startTimer: StartTimer;
  readonly limits?: Partial<StreamLimits>;
}

/** The streams that clients can resume, in memory. */
export class ResumableStreams {
  /** The oldest first. */
  readonly #entries = new Map<string, Entry>();
  readonly #named = new Map<string, Entry>();
  readonly #limits: StreamLimits;
  readonly #startTimer: StartTimer;
  #bytes = 0;

  constructor({ startTimer, limits = {} }: StreamsDeps) {
    this.#startTimer = startTimer;
    this.#limits = { ...streamLimits, ...limits };
  }

  /** Undefined if the call does not ask for it, or too many streams run. */
  accept(call: Call) {
    const requested = call.authorized ? requestedBy(call) : undefined;
    if (!requested || !this.#makeRoom(ownerOf(call))) return undefined;
    const { name } = requested;
    const controller = new AbortController();
    const { signal: client } = call;
    const follow = (): void => controller.abort(client.reason);
    if (name === undefined) client.addEventListener('abort', follow);
    if (client.aborted) follow();
    const settled = deferred<Reply | undefined>();
    const ended = deferred<void>();
    const entry: Entry = { id: call.id, owner: ownerOf(call), name, controller, ended, settled: settled.promise };
    this.#entries.set(call.id, entry);
    if (name !== undefined) this.#named.set(nameKey(entry.owner, name), entry);
    const isRunning = (): boolean => entry.stream?.running ?? this.#entries.has(call.id);
    return {
      /** Instead of that of the client. */
      signal: controller.signal,
      /** Whether it is still running, with or without its client. */
      get running() {
        return isRunning();
      },
      /** Takes the reply over: a stream is then read to its end, and `afterwards` called. Returns the reply to send. */
      settle: (reply: Reply, afterwards?: () => Promise<void>): { readonly reply: Reply; readonly taken: boolean } => {
        const stream = controller.signal.aborted ? undefined : this.#streamOf(entry, reply, afterwards);
        if (stream) {
          entry.stream = stream;
          client.removeEventListener('abort', follow);
          settled.resolve(undefined);
          return { reply: stream.follow(0), taken: true };
        }
        this.#remove(entry);
        settled.resolve('body' in reply ? reply : undefined);
        if (client.aborted) follow();
        else client.addEventListener('abort', follow);
        return { reply, taken: false };
      },
      fail: (error: unknown): void => {
        controller.abort(new Aborted('unread'));
        entry.stream?.fail(error);
      },
    };
  }

  /** Sends the events after this number and follows the stream; without `follow` only those that are there. */
  async takeUp(
    id: string,
    { after, follow = true }: { readonly after: number; readonly follow?: boolean },
    call: Call,
  ): Promise<Reply> {
    const entry = this.#find(id, call);
    // The response may not have begun.
    if (!entry.stream && !follow) return { status: 204, body: '' };
    const whole = entry.stream ? undefined : await unlessAborted(entry.settled, call.signal);
    if (whole) return whole;
    const { stream } = entry;
    if (!stream) throw missing(id);
    return follow ? stream.follow(after) : stream.soFar(after);
  }

  /** Stops the generation. Its events stay, with the end that the dialect has for stopped ones. */
  cancel(id: string, call: Call): void {
    this.#cancel(this.#find(id, call), 'cancelled');
  }

  /** How many run without any reader. */
  get detached(): number {
    return this.#running().filter(({ stream }) => stream?.readers === 0).length;
  }

  /** Stops those without a reader; the others end with their connections. Settles when they have ended. */
  async endDetached(): Promise<void> {
    const detached = this.#running().filter(({ stream }) => stream?.readers === 0);
    for (const entry of detached) this.#cancel(entry, 'shutdown');
    await Promise.all(detached.map(({ ended }) => ended.promise));
  }

  /** For the end of the server: stops and forgets all. */
  close(): void {
    this.#forget([...this.#entries.values()], 'shutdown');
  }

  /** Stops and forgets those of one owner. */
  forget(owner: Owner): void {
    this.#forget(
      [...this.#entries.values()].filter((entry) => entry.owner === owner),
      'cancelled',
    );
  }

  #forget(entries: readonly Entry[], cause: AbortCause): void {
    for (const entry of entries) {
      entry.controller.abort(new Aborted(cause));
      entry.stream?.fail(new Aborted(cause));
      this.#remove(entry);
    }
  }

  #find(id: string, call: Pick<Call, 'key'>): Entry {
    const owner = ownerOf(call);
    const entry = this.#entries.get(id) ?? this.#named.get(nameKey(owner, id));
    if (entry?.owner !== owner) throw missing(id);
    return entry;
  }

  #running(): Entry[] {
    return [...this.#entries.values()].filter(({ stream }) => stream?.running);
  }

  #streamOf(entry: Entry, reply: Reply, afterwards: (() => Promise<void>) | undefined): ResumableStream | undefined {
    const format = eventFormat(reply.headers);
    // A resumed reply is one of these already.
    if (!('stream' in reply) || !format || reply.headers?.['x-parley-resumable']) return undefined;
    return new ResumableStream(reply, format, this.#limits.streamBytes, {
      grown: (bytes) => {
        this.#bytes += bytes;
        if (this.#bytes > this.#limits.totalBytes) this.#shrink();
      },
      ended: () => {
        entry.ended.resolve();
        afterwards?.().catch(() => undefined);
        entry.timer?.cancel();
        if (this.#entries.has(entry.id)) entry.timer = this.#startTimer(this.#limits.keepMs, () => this.#remove(entry));
      },
    });
  }

  #cancel(entry: Entry, cause: AbortCause): void {
    const { controller, stream } = entry;
    if (controller.signal.aborted || (stream && !stream.running)) return;
    controller.abort(new Aborted(cause));
    entry.timer = this.#startTimer(this.#limits.cancelMs, () => stream?.fail(new Aborted(cause)));
  }

  /** A finished stream to drop, of the owner whose streams take the most. */
  #finishedOf(newcomer: Owner, sizeOf: (entry: Entry) => number): Entry | undefined {
    const entries = [...this.#entries.values()].map((entry) => {
      return { entry, owner: entry.owner, size: sizeOf(entry), droppable: entry.stream?.running === false };
    });
    return entryToDrop(entries, newcomer)?.entry;
  }

  /** No owner loses a stream to one who has more of them. */
  #makeRoom(newcomer: Owner): boolean {
    if (this.#entries.size < this.#limits.streams) return true;
    const finished = this.#finishedOf(newcomer, () => 1);
    if (finished) this.#remove(finished);
    return finished !== undefined;
  }

  /** Finished streams go first, then the oldest events of the longest. */
  #shrink(): void {
    const bytesOf = ({ stream }: Entry): number => stream?.bytes ?? 0;
    for (;;) {
      const over = this.#bytes - this.#limits.totalBytes;
      if (over <= 0) return;
      const finished = this.#finishedOf('', bytesOf);
      if (finished) this.#remove(finished);
      else {
        const [longest] = this.#running().sort((a, b) => bytesOf(b) - bytesOf(a));
        if (!longest?.stream || longest.stream.bytes === 0) return;
        longest.stream.forget(Math.max(over, longest.stream.bytes / 8));
      }
    }
  }

  #remove(entry: Entry): void {
    entry.timer?.cancel();
    if (!this.#entries.delete(entry.id)) return;
    const key = nameKey(entry.owner, entry.name ?? '');
    if (this.#named.get(key) === entry) this.#named.delete(key);
    this.#bytes -= entry.stream?.bytes ?? 0;
  }
}

const missing = (id: string): AppError => new AppError('stream-missing', { id: id.slice(0, 100) });

const nameKey = (owner: Owner, name: string): string => `${owner}\n${name}`;
