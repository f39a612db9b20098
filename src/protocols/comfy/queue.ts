import { unlessAborted } from '../../core/abort.ts';
import { AppError, asAppError } from '../../core/errors.ts';
import type { ImageService, ImageTurn } from '../../core/image.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import { type Owner, ownerOf } from '../../core/owner.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { StartTimer, Timer } from '../../core/timers.ts';
import type { LiveSocket, SocketCall } from '../../http/web-socket.ts';
import { BoundedMap } from '../../store/bounded-map.ts';
import type { PromptFields } from './fields.ts';
import { ComfyFiles } from './files.ts';
import type { Graph } from './graph.ts';

/** The files of each output. */
export type Outputs = Readonly<Record<string, object>>;

interface NewPrompt {
  readonly id: string;
  readonly fields: PromptFields;
  readonly nodes: Graph;
  readonly outputs: readonly string[];
  readonly owner: Owner;
  readonly requestContext: Pick<RequestContext, 'client' | 'part' | 'requestId' | 'watch'>;
  readonly image: Pick<ImageService, 'inTurn'>;
  /** Size of the request. */
  readonly bytes: number;
  readonly run: (running: Running, turn: ImageTurn) => Promise<Outputs>;
}

interface Prompt extends NewPrompt {
  readonly client: string | undefined;
  /** Lower numbers of the same client run first. */
  readonly number: number;
  /** Milliseconds since 1970. */
  readonly createTime: number;
  readonly stop: AbortController;
  /** The node that runs now. */
  node: string | undefined;
  readonly executed: string[];
  readonly notes: string[];
  readonly messages: [string, object][];
}

interface QueueDeps {
  readonly now: () => number;
  readonly newId: () => string;
  readonly startTimer: StartTimer;
}

const maxWaitingBytes = 128 * 2 ** 20;
/** Clients listen for the events of a prompt only after the reply with its id. */
const replyMs = 100;

/** All prompts of the server. Each waits in the common queue from when it is posted; results stay in the history. */
export class ComfyQueue {
  readonly files = new ComfyFiles();
  readonly hub: Hub;
  readonly newId: () => string;
  readonly #pending = new Set<Prompt>();
  readonly #running = new Set<Prompt>();
  /** Settle when a prompt neither waits nor runs. */
  readonly #over = new Map<Prompt, Promise<void>>();
  readonly #history = new BoundedMap<object>({ entries: 200, bytes: 64 * 2 ** 20 });
  #count = 0;
  #pictures = 0;

  constructor(private readonly deps: QueueDeps) {
    this.newId = deps.newId;
    this.hub = new Hub({
      ...deps,
      remaining: () => this.remaining,
      runningNode: (owner, client) =>
        [...this.#running].find((prompt) => prompt.owner === owner && prompt.client === client)?.node,
    });
  }

  get remaining(): number {
    return this.#pending.size + this.#running.size;
  }

  /** Returns the number of the prompt. Throws `busy` if the queue is full. */
  add(prompt: NewPrompt): number {
    const bytes = [...this.#pending].reduce((sum, each) => sum + each.bytes, prompt.bytes);
    if (bytes > maxWaitingBytes) throw new AppError('busy', { retryAfterSeconds: 10 });
    const count = this.#count + 1;
    const { number = prompt.fields.front ? -count : count, client_id: client } = prompt.fields;
    const stop = new AbortController();
    const state = { node: undefined, executed: [], notes: [], messages: [] };
    const own: Prompt = { ...prompt, client, number, stop, createTime: this.deps.now(), ...state };
    const replied = new Promise<void>((resolve) => void this.deps.startTimer(replyMs, resolve));
    const requestContext = { genkey: prompt.id, ...prompt.requestContext, signal: stop.signal, rank: number };
    const events = prompt.image.inTurn(requestContext, (turn) => this.#inTurn(own, turn, replied));
    this.#count = count;
    this.#pending.add(own);
    this.hub.status();
    this.#over.set(
      own,
      this.#untilOver(own, events).finally(() => this.#over.delete(own)),
    );
    return number;
  }

  has(id: string): boolean {
    return this.#history.has(id) || [...this.#running, ...this.#pending].some((prompt) => prompt.id === id);
  }

  queue(owner: Owner): object {
    const own = (prompts: Iterable<Prompt>): Prompt[] => [...prompts].filter((prompt) => prompt.owner === owner);
    return {
      queue_running: own(this.#running).map(queueItem),
      queue_pending: own(this.#pending)
        .sort((one, other) => one.number - other.number)
        .map(queueItem),
    };
  }

  /** Removes waiting prompts of an owner; all of them without ids. */
  dropPending(owner: Owner, ids?: readonly string[]): void {
    for (const prompt of this.#pending) {
      if (prompt.owner !== owner || (ids && !ids.includes(prompt.id))) continue;
      this.#pending.delete(prompt);
      prompt.stop.abort(new AppError('stopped', {}));
    }
    this.hub.status();
  }

  /** The newest entries of an owner, or those from an offset on. */
  history(owner: Owner, limit = Number.POSITIVE_INFINITY, offset?: number): object {
    const own = this.#history.entriesOf(owner);
    const start = offset ?? Math.max(0, own.length - limit);
    return Object.fromEntries(own.slice(start, start + limit));
  }

  entry(owner: Owner, id: string): object {
    return Object.fromEntries(this.#history.entriesOf(owner).filter(([own]) => own === id));
  }

  dropHistory(owner: Owner, ids?: readonly string[]): void {
    for (const [id] of this.#history.entriesOf(owner)) if (!ids || ids.includes(id)) this.#history.delete(id);
  }

  /** Removes everything of an owner: stops what waits or runs, deletes results and images, and closes connections. */
  async forget(owner: Owner): Promise<void> {
    const left = [...this.#over].filter(([prompt]) => prompt.owner === owner);
    for (const [prompt] of left) prompt.stop.abort(new AppError('stopped', {}));
    await Promise.all(left.map(([, over]) => over));
    this.dropHistory(owner);
    this.files.forget(owner);
    this.hub.close(owner);
  }

  /** Stops all running prompts of an owner, or only this one. */
  interrupt(owner: Owner, id?: string): void {
    for (const prompt of this.#running)
      if (prompt.owner === owner && (id === undefined || prompt.id === id))
        prompt.stop.abort(new AppError('stopped', {}));
  }

  /** A unique number for an image. */
  nextImage(): number {
    this.#pictures += 1;
    return this.#pictures;
  }

  async *#inTurn(prompt: Prompt, turn: ImageTurn, replied: Promise<void>): AsyncGenerator<void> {
    await unlessAborted(replied, turn.signal);
    this.#pending.delete(prompt);
    this.#running.add(prompt);
    yield await this.#run(prompt, turn);
  }

  /** Never rejects. A prompt that was stopped before it ran counts as interrupted, unless its client removed it. */
  async #untilOver(prompt: Prompt, events: AsyncIterable<void>): Promise<void> {
    try {
      for await (const _ of events);
    } catch {
      // The history has the error.
    }
    if (!this.#pending.delete(prompt)) return;
    this.#report(prompt, 'execution_interrupted', position(prompt));
    this.#remember(prompt, undefined);
    this.hub.status();
  }

  /** Never rejects. */
  async #run(prompt: Prompt, turn: ImageTurn): Promise<void> {
    this.hub.status();
    this.#report(prompt, 'execution_start', {});
    this.#report(prompt, 'execution_cached', { nodes: [] });
    const running = callbacks(prompt, this.hub);
    let outputs: Outputs | undefined;
    try {
      outputs = await prompt.run(running, turn);
      this.#report(prompt, 'execution_success', {});
    } catch (error) {
      const { code, message } = asAppError(error);
      const stopped = code === 'stopped' || turn.signal.aborted;
      const reason = { exception_message: message, exception_type: code, traceback: [] };
      const values = { current_inputs: {}, current_outputs: [] };
      if (stopped) this.#report(prompt, 'execution_interrupted', position(prompt));
      else this.#report(prompt, 'execution_error', { ...position(prompt), ...reason, ...values });
    }
    // In one step: some clients poll the queue, and others the history.
    this.#remember(prompt, outputs);
    this.#running.delete(prompt);
    this.hub.status();
    running.send('executing', { node: null });
  }

  /** Sends an event that also goes into the history. */
  #report(prompt: Prompt, type: string, data: object): void {
    const event = { ...data, prompt_id: prompt.id, timestamp: this.deps.now() };
    prompt.messages.push([type, event]);
    if (type === 'execution_interrupted') this.hub.sendAll(prompt.owner, type, event);
    else this.hub.to(prompt).send(type, event);
  }

  #remember(prompt: Prompt, outputs: Outputs | undefined): void {
    const ids = Object.keys(outputs ?? {});
    const meta = ids.map((id) => [id, { node_id: id, display_node: id, parent_node: null, real_node_id: id }]);
    const entry = {
      prompt: queueItem(prompt),
      outputs: outputs ?? {},
      status: { status_str: outputs ? 'success' : 'error', completed: Boolean(outputs), messages: prompt.messages },
      meta: Object.fromEntries(meta),
      ...(prompt.notes.length > 0 ? { notes: prompt.notes } : {}),
    };
    this.#history.set(prompt.id, entry, prompt.bytes, prompt.owner);
  }
}

/** Callbacks of a running prompt. */
export type Running = ReturnType<typeof callbacks>;

function callbacks(prompt: Prompt, hub: Hub) {
  const client = hub.to(prompt);
  const send = (type: string, data: object): void => client.send(type, { ...data, prompt_id: prompt.id });
  return {
    ...client,
    send,
    /** A remark for the history, about something that could not be done as requested. */
    note: (remark: string): void => void prompt.notes.push(remark),
    sendPreview: (node: string, png: Uint8Array): void => {
      const about = { node_id: node, display_node_id: node, parent_node_id: null, real_node_id: node };
      client.sendPreview(png, { ...about, prompt_id: prompt.id });
    },
    executing: (node: string): void => {
      if (prompt.node !== undefined) prompt.executed.push(prompt.node);
      prompt.node = node;
      send('executing', { node, display_node: node });
    },
  };
}

function queueItem({ number, id, fields, createTime, outputs, client }: Prompt): readonly unknown[] {
  const extra = { ...fields.extra_data, create_time: createTime };
  return [number, id, fields.prompt, client === undefined ? extra : { ...extra, client_id: client }, outputs];
}

function position({ node, nodes, executed }: Prompt): object {
  return { node_id: node ?? '', node_type: nodes.get(node ?? '')?.classType ?? '', executed };
}

/** Clients reconnect after ten seconds without a message. */
const statusMs = 6000;

export const features = { supports_preview_metadata: true, max_upload_size: 100 * 2 ** 20 };

interface HubDeps extends Pick<QueueDeps, 'newId' | 'startTimer'> {
  readonly remaining: () => number;
  /** The node that runs now for this client. */
  readonly runningNode: (owner: Owner, client: string) => string | undefined;
}

/** The connections at /ws, by owner and client id. */
class Hub {
  readonly #sockets = new Map<string, LiveSocket>();
  /** Sockets of clients that support previews with metadata. */
  readonly #previewing = new WeakSet<LiveSocket>();
  #timer: Timer | undefined;

  constructor(private readonly deps: HubDeps) {}

  open(call: Pick<SocketCall, 'query' | 'key'>, socket: LiveSocket): void {
    const owner = ownerOf(call);
    const client = call.query.get('clientId') || this.deps.newId();
    const listener = `${owner}\n${client}`;
    this.#sockets.get(listener)?.close(1000, 'another connection has the same clientId');
    this.#sockets.set(listener, socket);
    socket.signal.addEventListener('abort', () => this.#closed(listener, socket), { once: true });
    socket.onMessage((message) => this.#receive(socket, message));
    socket.send(text('status', { ...this.#status(), sid: client }));
    const node = this.deps.runningNode(owner, client);
    if (node !== undefined) socket.send(text('executing', { node, display_node: node }));
    this.#timer ??= this.deps.startTimer(statusMs, () => {
      this.status();
      this.#timer?.restart();
    });
  }

  /** Ids of clients are chosen by them: they are looked up among those of the same owner. A client may connect again. */
  to({ owner, client }: Pick<Prompt, 'owner' | 'client'>) {
    const socket = (): LiveSocket | undefined =>
      client === undefined ? undefined : this.#sockets.get(`${owner}\n${client}`);
    const previewing = (): LiveSocket | undefined => {
      const current = socket();
      return current && this.#previewing.has(current) ? current : undefined;
    };
    return {
      send: (type: string, data: object): void => socket()?.send(text(type, data)),
      /** A finished image: event type 1, image format 2 (PNG). */
      sendImage: (png: Uint8Array): void => socket()?.send(Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 2]), png])),
      /** A binary message as it is. */
      sendBinary: (bytes: Uint8Array): void => socket()?.sendOrDrop(bytes),
      wantsPreviews: (): boolean => previewing() !== undefined,
      /** A preview with metadata (event type 4), for clients that support it. */
      sendPreview: (png: Uint8Array, about: object): void => {
        const metadata = Buffer.from(JSON.stringify({ ...about, image_type: 'image/png' }));
        const head = Buffer.alloc(8);
        head.writeUInt32BE(4, 0);
        head.writeUInt32BE(metadata.length, 4);
        previewing()?.sendOrDrop(Buffer.concat([head, metadata, png]));
      },
    };
  }

  /** To all clients of an owner. */
  sendAll(owner: Owner, type: string, data: object): void {
    const message = text(type, data);
    for (const [listener, socket] of this.#sockets) if (listener.startsWith(`${owner}\n`)) socket.send(message);
  }

  /** The connections of an owner. */
  close(owner: Owner): void {
    for (const [listener, socket] of this.#sockets)
      if (listener.startsWith(`${owner}\n`)) socket.close(1008, 'this key was revoked');
  }

  /** Sends the number of remaining prompts to all clients. */
  status(): void {
    const message = text('status', this.#status());
    for (const socket of this.#sockets.values()) socket.send(message);
  }

  #status(): object {
    return { status: { exec_info: { queue_remaining: this.deps.remaining() } } };
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
