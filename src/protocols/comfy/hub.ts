import { isObject, tryParseJson } from '../../core/json.ts';
import type { StartTimer, Timer } from '../../http/timers.ts';
import type { LiveSocket, SocketCall } from '../../http/web-socket.ts';

/** Clients reconnect after ten seconds without a message. */
const statusMs = 6000;

export const features = { supports_preview_metadata: true, max_upload_size: 100 * 2 ** 20 };

interface HubParts {
  readonly newId: () => string;
  readonly startTimer: StartTimer;
  readonly remaining: () => number;
  /** The node that runs now for this client. */
  readonly runningNode: (client: string) => string | undefined;
}

/** The connections at /ws, by client id. */
export class Hub {
  readonly #parts: HubParts;
  readonly #sockets = new Map<string, LiveSocket>();
  /** Sockets of clients that support previews with metadata. */
  readonly #previewing = new WeakSet<LiveSocket>();
  #timer: Timer | undefined;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  open({ query }: Pick<SocketCall, 'query'>, socket: LiveSocket): void {
    const client = query.get('clientId') || this.#parts.newId();
    this.#sockets.get(client)?.close(1000, 'another connection has the same clientId');
    this.#sockets.set(client, socket);
    socket.signal.addEventListener('abort', () => this.#closed(client, socket), { once: true });
    socket.onMessage((message) => this.#receive(socket, message));
    socket.send(text('status', { ...this.#status(), sid: client }));
    const node = this.#parts.runningNode(client);
    if (node !== undefined) socket.send(text('executing', { node, display_node: node }));
    this.#timer ??= this.#parts.startTimer(statusMs, () => {
      this.status();
      this.#timer?.restart();
    });
  }

  send(client: string | undefined, type: string, data: object): void {
    this.#socketOf(client)?.send(text(type, data));
  }

  broadcast(type: string, data: object): void {
    const message = text(type, data);
    for (const socket of this.#sockets.values()) socket.send(message);
  }

  /** A finished picture: event type 1, image format 2 (PNG). */
  sendPicture(client: string | undefined, png: Uint8Array): void {
    this.#socketOf(client)?.send(Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 2]), png]));
  }

  wantsPreviews(client: string | undefined): boolean {
    const socket = this.#socketOf(client);
    return socket !== undefined && this.#previewing.has(socket);
  }

  /** A preview with metadata (event type 4), for clients that support it. */
  sendPreview(client: string | undefined, png: Uint8Array, about: object): void {
    if (!this.wantsPreviews(client)) return;
    const metadata = Buffer.from(JSON.stringify({ ...about, image_type: 'image/png' }));
    const head = Buffer.alloc(8);
    head.writeUInt32BE(4, 0);
    head.writeUInt32BE(metadata.length, 4);
    this.#socketOf(client)?.sendOrDrop(Buffer.concat([head, metadata, png]));
  }

  /** Sends the number of remaining prompts to all clients. */
  status(): void {
    this.broadcast('status', this.#status());
  }

  #status(): object {
    return { status: { exec_info: { queue_remaining: this.#parts.remaining() } } };
  }

  #socketOf(client: string | undefined): LiveSocket | undefined {
    return client === undefined ? undefined : this.#sockets.get(client);
  }

  /** Only feature flags get a reply. */
  #receive(socket: LiveSocket, message: string | Buffer): void {
    const flags = flagsOf(message);
    if (!flags) return;
    if (flags.supports_preview_metadata === true) this.#previewing.add(socket);
    else this.#previewing.delete(socket);
    socket.send(text('feature_flags', features));
  }

  #closed(client: string, socket: LiveSocket): void {
    if (this.#sockets.get(client) === socket) this.#sockets.delete(client);
    if (this.#sockets.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }
}

/** The feature flags of a client; undefined for any other message. */
function flagsOf(message: string | Buffer): Readonly<Record<string, unknown>> | undefined {
  if (typeof message !== 'string' || message.length > 10_000) return undefined;
  const parsed = tryParseJson(message);
  if (!isObject(parsed) || parsed.type !== 'feature_flags') return undefined;
  return isObject(parsed.data) ? parsed.data : {};
}

function text(type: string, data: object): string {
  return JSON.stringify({ type, data });
}
