import { AppError, asAppError } from '../../core/errors.ts';
import type { ImageService, ImageTurn } from '../../core/image.ts';
import { unlessAborted } from '../../core/unless-aborted.ts';
import type { StartTimer } from '../../http/timers.ts';
import { ComfyFiles } from './files.ts';
import type { Graph } from './graph.ts';
import { Hub } from './hub.ts';

/** What a prompt gives: the files of each of its outputs. */
export type Outputs = Readonly<Record<string, { readonly images: readonly object[] }>>;

/** How a prompt that runs tells of itself. */
export interface Running {
  readonly id: string;
  /** What could not be done as it was asked for: told in the history, since the tool has no other place for it. */
  note(text: string): void;
  /** Begins with this node. */
  executing(node: string): void;
  send(type: string, data: object): void;
  sendPicture(png: Uint8Array): void;
  readonly previews: {
    /** Whether its client wants to see pictures on their way. */
    readonly wanted: () => boolean;
    readonly send: (node: string, png: Uint8Array) => void;
  };
}

export interface NewPrompt {
  readonly id: string;
  readonly graph: object;
  readonly nodes: Graph;
  readonly extraData: object;
  readonly outputs: readonly string[];
  readonly client: string | undefined;
  /** Prompts with the same name share their turns in the queue. */
  readonly sharesTurnsAs: { readonly client: string; readonly part: string };
  /** Whose queue it waits in. */
  readonly image: Pick<ImageService, 'inTurn'>;
  /** Of one client's prompts lower ones come first; undefined for its place in the order in which prompts came. */
  readonly number?: number | undefined;
  readonly front: boolean;
  /** Of the request that brought it. */
  readonly bytes: number;
  readonly run: (running: Running, turn: ImageTurn) => Promise<Outputs>;
}

interface Prompt extends NewPrompt {
  readonly number: number;
  readonly stop: AbortController;
  node: string | undefined;
  readonly executed: string[];
  readonly notes: string[];
  readonly messages: [string, object][];
}

interface Entry {
  readonly value: object;
  readonly bytes: number;
}

export interface DeskParts {
  readonly now: () => number;
  readonly newId: () => string;
  readonly startTimer: StartTimer;
}

const mostWaitingBytes = 128 * 2 ** 20;
const mostEntries = 200;
const mostEntryBytes = 64 * 2 ** 20;
/** Clients listen for a prompt once they have been told its id. */
const answerMilliseconds = 100;

/**
 * The prompts of the whole server. Each has a place in the common queue from the moment it is posted, runs when its turn comes,
 * and what came of it is kept for a while.
 */
export class ComfyQueue {
  readonly files = new ComfyFiles();
  readonly hub: Hub;
  readonly #parts: DeskParts;
  readonly #pending = new Set<Prompt>();
  readonly #running = new Set<Prompt>();
  readonly #history = new Map<string, Entry>();
  #count = 0;
  #pictures = 0;

  constructor(parts: DeskParts) {
    this.#parts = parts;
    this.hub = new Hub({
      ...parts,
      remaining: () => this.remaining,
      runningNode: (client) => [...this.#running].find((prompt) => prompt.client === client)?.node,
    });
  }

  get remaining(): number {
    return this.#pending.size + this.#running.size;
  }

  /** Throws `busy` where the queue is full. */
  add(prompt: NewPrompt): number {
    const bytes = [...this.#pending].reduce((sum, each) => sum + each.bytes, prompt.bytes);
    if (bytes > mostWaitingBytes) throw new AppError('busy', { retryAfterSeconds: 10 });
    const count = this.#count + 1;
    const number = prompt.number ?? (prompt.front ? -count : count);
    const own: Prompt = {
      ...prompt,
      number,
      stop: new AbortController(),
      node: undefined,
      executed: [],
      notes: [],
      messages: [],
    };
    const answered = new Promise<void>((resolve) => void this.#parts.startTimer(answerMilliseconds, resolve));
    const { id, image, sharesTurnsAs } = prompt;
    const ticket = { genkey: id, ...sharesTurnsAs, signal: own.stop.signal, rank: number };
    const whole = image.inTurn(ticket, (turn) => this.#inTurn(own, turn, answered));
    this.#count = count;
    this.#pending.add(own);
    this.hub.status();
    void this.#untilOver(own, whole);
    return number;
  }

  newId(): string {
    return this.#parts.newId();
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

  /** Of those that wait; all of them without ids. */
  dropPending(ids?: readonly string[]): void {
    for (const prompt of this.#pending) {
      if (ids && !ids.includes(prompt.id)) continue;
      this.#pending.delete(prompt);
      prompt.stop.abort(new AppError('stopped', {}));
    }
    this.hub.status();
  }

  /** The newest so many, from a place on. */
  history(most = Number.POSITIVE_INFINITY, offset?: number): object {
    const all = [...this.#history].map(([id, { value }]) => [id, value] as const);
    const start = offset ?? Math.max(0, all.length - most);
    return Object.fromEntries(all.slice(start, start + most));
  }

  entry(id: string): object {
    const found = this.#history.get(id);
    return found ? { [id]: found.value } : {};
  }

  dropHistory(ids?: readonly string[]): void {
    for (const id of ids ?? [...this.#history.keys()]) this.#history.delete(id);
  }

  /** Stops all that run, or only this one. */
  interrupt(id?: string): void {
    for (const prompt of this.#running) {
      if (id === undefined || prompt.id === id) prompt.stop.abort(new AppError('stopped', {}));
    }
  }

  /** A number that no picture has had before. */
  nextPicture(): number {
    this.#pictures += 1;
    return this.#pictures;
  }

  /** What becomes of a prompt is in its history. */
  async *#inTurn(prompt: Prompt, turn: ImageTurn, answered: Promise<void>): AsyncGenerator<void> {
    await unlessAborted(answered, turn.signal);
    this.#pending.delete(prompt);
    this.#running.add(prompt);
    yield await this.#run(prompt, turn);
  }

  /** Never rejects. A prompt that was stopped before it ran is kept as interrupted, unless its client took it out of the queue. */
  async #untilOver(prompt: Prompt, whole: AsyncIterable<void>): Promise<void> {
    try {
      for await (const _ of whole);
    } catch {
      // Told by the history.
    }
    if (!this.#pending.delete(prompt)) return;
    const told = { ...place(prompt), prompt_id: prompt.id, timestamp: this.#parts.now() };
    prompt.messages.push(['execution_interrupted', told]);
    this.#keep(prompt, undefined);
    this.hub.broadcast('execution_interrupted', told);
    this.hub.status();
  }

  /** Never rejects: whatever happens is told, kept and over. */
  async #run(prompt: Prompt, turn: ImageTurn): Promise<void> {
    const { id, client } = prompt;
    const note = (type: string, data: object): void => {
      const told = { ...data, prompt_id: id, timestamp: this.#parts.now() };
      prompt.messages.push([type, told]);
      if (type === 'execution_interrupted') this.hub.broadcast(type, told);
      else this.hub.send(client, type, told);
    };
    const send = (type: string, data: object): void => this.hub.send(client, type, { ...data, prompt_id: id });
    this.hub.status();
    note('execution_start', {});
    note('execution_cached', { nodes: [] });
    const outputs = await prompt
      .run(
        {
          id,
          note: (text) => void prompt.notes.push(text),
          send,
          sendPicture: (png) => this.hub.sendPicture(client, png),
          previews: {
            wanted: () => this.hub.wantsPreviews(client),
            send: (node, png) => this.hub.sendPreview(client, png, { ...realNode(node), prompt_id: id }),
          },
          executing: (node) => {
            if (prompt.node !== undefined) prompt.executed.push(prompt.node);
            prompt.node = node;
            send('executing', { node, display_node: node });
          },
        },
        turn,
      )
      .then((found) => {
        note('execution_success', {});
        return found;
      })
      .catch((error: unknown): undefined => {
        const failure = asAppError(error);
        if (failure.code === 'stopped' || turn.signal.aborted) note('execution_interrupted', place(prompt));
        else note('execution_error', { ...place(prompt), ...failureFields(failure) });
      });
    // At once and together: some clients look whether it is gone, and others whether it is there.
    this.#keep(prompt, outputs);
    this.#running.delete(prompt);
    this.hub.status();
    send('executing', { node: null });
  }

  #keep(prompt: Prompt, outputs: Outputs | undefined): void {
    const status = {
      status_str: outputs ? 'success' : 'error',
      completed: outputs !== undefined,
      messages: prompt.messages,
    };
    const meta = Object.keys(outputs ?? {}).map((id) => [
      id,
      { node_id: id, display_node: id, parent_node: null, real_node_id: id },
    ]);
    const value = {
      prompt: queueItem(prompt),
      outputs: outputs ?? {},
      status,
      meta: Object.fromEntries(meta),
      ...(prompt.notes.length > 0 ? { notes: prompt.notes } : {}),
    };
    this.#history.set(prompt.id, { value, bytes: prompt.bytes });
    let bytes = [...this.#history.values()].reduce((sum, entry) => sum + entry.bytes, 0);
    for (const [id, entry] of this.#history) {
      if (this.#history.size <= 1 || (this.#history.size <= mostEntries && bytes <= mostEntryBytes)) return;
      this.#history.delete(id);
      bytes -= entry.bytes;
    }
  }
}

function queueItem({ number, id, graph, extraData, outputs, client }: Prompt): readonly unknown[] {
  return [number, id, graph, client === undefined ? extraData : { ...extraData, client_id: client }, outputs];
}

/** Nodes stand for themselves here: none is made of others. */
function realNode(id: string): object {
  return { node_id: id, display_node_id: id, parent_node_id: null, real_node_id: id };
}

function place({ node, nodes, executed }: Prompt): object {
  return { node_id: node ?? '', node_type: nodes.get(node ?? '')?.classType ?? '', executed };
}

function failureFields({ code, message }: AppError): object {
  return { exception_message: message, exception_type: code, traceback: [], current_inputs: {}, current_outputs: [] };
}
