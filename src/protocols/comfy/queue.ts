import { AppError, asAppError } from '../../core/errors.ts';
import type { ImageService, ImageTurn } from '../../core/image.ts';
import type { Ticket } from '../../core/request.ts';
import { unlessAborted } from '../../core/unless-aborted.ts';
import type { StartTimer } from '../../http/timers.ts';
import { BoundedMap } from '../../store/bounded-map.ts';
import type { PromptFields } from './fields.ts';
import { ComfyFiles } from './files.ts';
import type { Graph } from './graph.ts';
import { Hub } from './hub.ts';

/** The files of each output. */
export type Outputs = Readonly<Record<string, { readonly images: readonly object[] }>>;

/** Callbacks of a running prompt. */
export interface Running {
  /** A remark for the history, about something that could not be done as requested. */
  note(text: string): void;
  executing(node: string): void;
  send(type: string, data: object): void;
  sendPicture(png: Uint8Array): void;
  wantsPreviews(): boolean;
  sendPreview(node: string, png: Uint8Array): void;
}

interface NewPrompt {
  readonly id: string;
  readonly fields: PromptFields;
  readonly nodes: Graph;
  readonly outputs: readonly string[];
  readonly owner: Pick<Ticket, 'client' | 'part'>;
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

interface QueueParts {
  readonly now: () => number;
  readonly newId: () => string;
  readonly startTimer: StartTimer;
}

const mostWaitingBytes = 128 * 2 ** 20;
/** Clients listen for the events of a prompt only after the reply with its id. */
const replyMs = 100;

/** All prompts of the server. Each waits in the common queue from when it is posted; results stay in the history. */
export class ComfyQueue {
  readonly files = new ComfyFiles();
  readonly hub: Hub;
  readonly newId: () => string;
  readonly #parts: QueueParts;
  readonly #pending = new Set<Prompt>();
  readonly #running = new Set<Prompt>();
  readonly #history = new BoundedMap<object>({ entries: 200, bytes: 64 * 2 ** 20 });
  #count = 0;
  #pictures = 0;

  constructor(parts: QueueParts) {
    this.#parts = parts;
    this.newId = parts.newId;
    this.hub = new Hub({
      ...parts,
      remaining: () => this.remaining,
      runningNode: (client) => [...this.#running].find((prompt) => prompt.client === client)?.node,
    });
  }

  get remaining(): number {
    return this.#pending.size + this.#running.size;
  }

  /** Returns the number of the prompt. Throws `busy` if the queue is full. */
  add(prompt: NewPrompt): number {
    const bytes = [...this.#pending].reduce((sum, each) => sum + each.bytes, prompt.bytes);
    if (bytes > mostWaitingBytes) throw new AppError('busy', { retryAfterSeconds: 10 });
    const count = this.#count + 1;
    const { number: wanted, front, client_id: client } = prompt.fields;
    const number = wanted ?? (front ? -count : count);
    const stop = new AbortController();
    const state = { node: undefined, executed: [], notes: [], messages: [] };
    const own: Prompt = { ...prompt, client, number, stop, createTime: this.#parts.now(), ...state };
    const replied = new Promise<void>((resolve) => void this.#parts.startTimer(replyMs, resolve));
    const ticket = { genkey: prompt.id, ...prompt.owner, signal: stop.signal, rank: number };
    const events = prompt.image.inTurn(ticket, (turn) => this.#inTurn(own, turn, replied));
    this.#count = count;
    this.#pending.add(own);
    this.hub.status();
    void this.#untilOver(own, events);
    return number;
  }

  has(id: string): boolean {
    return this.#history.has(id) || [...this.#running, ...this.#pending].some((prompt) => prompt.id === id);
  }

  queue(): object {
    return {
      queue_running: [...this.#running].map(queueItem),
      queue_pending: [...this.#pending].sort((one, other) => one.number - other.number).map(queueItem),
    };
  }

  /** Removes waiting prompts; all of them without ids. */
  dropPending(ids?: readonly string[]): void {
    for (const prompt of this.#pending) {
      if (ids && !ids.includes(prompt.id)) continue;
      this.#pending.delete(prompt);
      prompt.stop.abort(new AppError('stopped', {}));
    }
    this.hub.status();
  }

  /** The newest entries, or those from an offset on. */
  history(most = Number.POSITIVE_INFINITY, offset?: number): object {
    const start = offset ?? Math.max(0, this.#history.size - most);
    return Object.fromEntries(this.#history.entries().slice(start, start + most));
  }

  entry(id: string): object {
    const found = this.#history.get(id);
    return found ? { [id]: found } : {};
  }

  dropHistory(ids: readonly string[] = this.#history.entries().map(([id]) => id)): void {
    for (const id of ids) this.#history.delete(id);
  }

  /** Stops all running prompts, or only this one. */
  interrupt(id?: string): void {
    for (const prompt of this.#running) {
      if (id === undefined || prompt.id === id) prompt.stop.abort(new AppError('stopped', {}));
    }
  }

  /** A unique number for a picture. */
  nextPicture(): number {
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
    const running = this.#callbacks(prompt);
    let outputs: Outputs | undefined;
    try {
      outputs = await prompt.run(running, turn);
      this.#report(prompt, 'execution_success', {});
    } catch (error) {
      const { code, message } = asAppError(error);
      const stopped = code === 'stopped' || turn.signal.aborted;
      const reason = { exception_message: message, exception_type: code, traceback: [] };
      if (stopped) this.#report(prompt, 'execution_interrupted', position(prompt));
      else
        this.#report(prompt, 'execution_error', {
          ...position(prompt),
          ...reason,
          current_inputs: {},
          current_outputs: [],
        });
    }
    // In one step: some clients poll the queue, and others the history.
    this.#remember(prompt, outputs);
    this.#running.delete(prompt);
    this.hub.status();
    running.send('executing', { node: null });
  }

  #callbacks(prompt: Prompt): Running {
    const { id, client } = prompt;
    const send = (type: string, data: object): void => this.hub.send(client, type, { ...data, prompt_id: id });
    return {
      note: (text) => void prompt.notes.push(text),
      send,
      sendPicture: (png) => this.hub.sendPicture(client, png),
      wantsPreviews: () => this.hub.wantsPreviews(client),
      sendPreview: (node, png) => {
        const about = { node_id: node, display_node_id: node, parent_node_id: null, real_node_id: node };
        this.hub.sendPreview(client, png, { ...about, prompt_id: id });
      },
      executing: (node) => {
        if (prompt.node !== undefined) prompt.executed.push(prompt.node);
        prompt.node = node;
        send('executing', { node, display_node: node });
      },
    };
  }

  /** Sends an event that also goes into the history. */
  #report(prompt: Prompt, type: string, data: object): void {
    const event = { ...data, prompt_id: prompt.id, timestamp: this.#parts.now() };
    prompt.messages.push([type, event]);
    if (type === 'execution_interrupted') this.hub.broadcast(type, event);
    else this.hub.send(prompt.client, type, event);
  }

  #remember(prompt: Prompt, outputs: Outputs | undefined): void {
    const ids = Object.keys(outputs ?? {});
    const meta = ids.map((id) => [id, { node_id: id, display_node: id, parent_node: null, real_node_id: id }]);
    const entry = {
      prompt: queueItem(prompt),
      outputs: outputs ?? {},
      status: {
        status_str: outputs ? 'success' : 'error',
        completed: outputs !== undefined,
        messages: prompt.messages,
      },
      meta: Object.fromEntries(meta),
      ...(prompt.notes.length > 0 ? { notes: prompt.notes } : {}),
    };
    this.#history.set(prompt.id, entry, prompt.bytes);
  }
}

function queueItem({ number, id, fields, createTime, outputs, client }: Prompt): readonly unknown[] {
  const extra = { ...fields.extra_data, create_time: createTime };
  return [number, id, fields.prompt, client === undefined ? extra : { ...extra, client_id: client }, outputs];
}

function position({ node, nodes, executed }: Prompt): object {
  return { node_id: node ?? '', node_type: nodes.get(node ?? '')?.classType ?? '', executed };
}
