import type { StartTimer, Timer } from '../../http/timers.ts';
import type { LiveSocket, SocketCall } from '../../http/web-socket.ts';
import { isObject } from '../fields/readers.ts';

/** Clients that hear nothing for ten seconds connect anew. */
const statusMilliseconds = 6000;
const mostUpload = 100 * 2 ** 20;

export const features = { supports_preview_metadata: true, max_upload_size: mostUpload };

export interface HubParts {
  readonly newId: () => string;
  readonly startTimer: StartTimer;
  readonly remaining: () => number;
  /** The node that is run now for this client. */
  readonly runningNode: (client: string) => string | undefined;
}

/** Everybody who listens, by the name under which they send prompts. */
export class Hub {
  readonly #parts: HubParts;
  readonly #sockets = new Map<string, LiveSocket>();
  /** Those that can tell a preview from a result. */
  readonly #previewing = new WeakSet<LiveSocket>();
  #timer: Timer | undefined;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  open({ query }: Pick<SocketCall, 'query'>, socket: LiveSocket): void {
    const client = query.get('clientId') || this.#parts.newId();
    this.#sockets.get(client)?.close(1000, 'another connection has the same clientId');
    this.#sockets.set(client, socket);
    socket.signal.addEventListener('abort', () => this.#left(client, socket), { once: true });
    socket.onMessage((message) => this.#answer(socket, message));
    socket.send(text('status', { ...this.#status(), sid: client }));
    const node = this.#parts.runningNode(client);
    if (node !== undefined) socket.send(text('executing', { node, display_node: node }));
    this.#timer ??= this.#parts.startTimer(statusMilliseconds, () => {
      this.status();
      this.#timer?.restart();
    });
  }

  send(client: string | undefined, type: string, data: object): void {
    if (client !== undefined) this.#sockets.get(client)?.send(text(type, data));
  }

  broadcast(type: string, data: object): void {
    const message = text(type, data);
    for (const socket of this.#sockets.values()) socket.send(message);
  }

  /** A finished picture, for those who want it here and not as a file. */
  sendPicture(client: string | undefined, png: Uint8Array): void {
    if (client === undefined) return;
    // An event of type 1, and a picture of format 2.
    const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, 2]);
    this.#sockets.get(client)?.send(Buffer.concat([head, png]));
  }

  /** Whether somebody listens who wants to see pictures on their way. */
  wantsPreviews(client: string | undefined): boolean {
    const socket = client === undefined ? undefined : this.#sockets.get(client);
    return socket !== undefined && this.#previewing.has(socket);
  }

  /** A picture on its way, for those who said that they can tell it from a result. */
  sendPreview(client: string | undefined, png: Uint8Array, about: object): void {
    if (client === undefined || !this.wantsPreviews(client)) return;
    const notes = Buffer.from(JSON.stringify({ ...about, image_type: 'image/png' }));
    // An event of type 4, and the length of what is said about the picture.
    const head = Buffer.alloc(8);
    head.writeUInt32BE(4, 0);
    head.writeUInt32BE(notes.length, 4);
    this.#sockets.get(client)?.sendOrDrop(Buffer.concat([head, notes, png]));
  }

  /** How many prompts are left, to everybody. */
  status(): void {
    this.broadcast('status', this.#status());
  }

  #status(): object {
    return { status: { exec_info: { queue_remaining: this.#parts.remaining() } } };
  }

  /** Only what a client can do is answered; there is nothing else to be said. */
  #answer(socket: LiveSocket, message: string | Buffer): void {
    const told = featuresOf(message);
    if (!told) return;
    if (told.supports_preview_metadata === true) this.#previewing.add(socket);
    else this.#previewing.delete(socket);
    socket.send(text('feature_flags', features));
  }

  #left(client: string, socket: LiveSocket): void {
    if (this.#sockets.get(client) === socket) this.#sockets.delete(client);
    if (this.#sockets.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/** What a client says that it can do; undefined for all else that it may say. */
function featuresOf(message: string | Buffer): Readonly<Record<string, unknown>> | undefined {
  if (typeof message !== 'string' || message.length > 10_000) return undefined;
  try {
    const told: unknown = JSON.parse(message);
    if (!isObject(told) || told.type !== 'feature_flags') return undefined;
    return isObject(told.data) ? told.data : {};
  } catch {
    return undefined;
  }
}

function text(type: string, data: object): string {
  return JSON.stringify({ type, data });
}
