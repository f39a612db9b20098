import { type Message, type ToolCallRecord, text } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export type ItemPart =
  | { readonly type: 'text'; text: string }
  | {
      readonly type: 'audio';
      /** Undefined until it is transcribed. */
      transcript: string | undefined;
      /** What was spoken of an answer, in order. */
      readonly spoken?: Spoken[];
    };

export interface Spoken {
  readonly text: string;
  milliseconds: number;
}

export interface MessageItem {
  readonly type: 'message';
  readonly id: string;
  readonly role: 'system' | 'user' | 'assistant';
  status: ItemStatus;
  readonly parts: ItemPart[];
}

export interface CallItem {
  readonly type: 'call';
  readonly id: string;
  status: ItemStatus;
  readonly callId: string;
  readonly name: string;
  /** JSON. */
  arguments: string;
}

interface CallOutputItem {
  readonly type: 'call-output';
  readonly id: string;
  readonly status: ItemStatus;
  readonly callId: string;
  readonly output: string;
}

export type Item = MessageItem | CallItem | CallOutputItem;

/** Beyond these the oldest items are dropped. */
const maxItems = 1000;
const maxCharacters = 2 ** 21;

/** The items of a connection, in order. */
export class Conversation {
  readonly #items: Item[] = [];

  get items(): readonly Item[] {
    return this.#items;
  }

  find(id: string): Item | undefined {
    return this.#items.find((item) => item.id === id);
  }

  /** The item, or an error that names its id. */
  get(id: string, field = 'item_id'): Item {
    const item = this.find(id);
    if (item) return item;
    throw refused(`There is no item ${JSON.stringify(id)} in the conversation.`, 'item_not_found', field);
  }

  /** Behind the item of this id, at the front for `root`, or else at the end. Returns the id of the item before it. */
  add(item: Item, after?: string): string | null {
    if (this.find(item.id)) {
      throw refused(`There is an item ${JSON.stringify(item.id)} already.`, 'item_already_exists', 'item.id');
    }
    const index = after === undefined ? this.#items.length : this.#indexBehind(after);
    this.#items.splice(index, 0, item);
    return this.#items[index - 1]?.id ?? null;
  }

  remove(id: string): void {
    this.#items.splice(this.#items.indexOf(this.get(id)), 1);
  }

  /** Drops the oldest items above the limits, and returns their ids. */
  trim(): readonly string[] {
    let characters = this.#items.reduce((sum, item) => sum + lengthOf(item), 0);
    const dropped: string[] = [];
    while (this.#items.length > 1 && (this.#items.length > maxItems || characters > maxCharacters)) {
      const first = this.#items.shift() as Item;
      characters -= lengthOf(first);
      dropped.push(first.id);
    }
    return dropped;
  }

  #indexBehind(id: string): number {
    return id === 'root' ? 0 : this.#items.indexOf(this.get(id, 'previous_item_id')) + 1;
  }
}

/** Cuts the transcript of a spoken answer to what was played of it. */
export function truncate(item: Item, contentIndex: number, audioEndMs: number): void {
  const part = item.type === 'message' && item.role === 'assistant' ? item.parts[contentIndex] : undefined;
  if (part?.type !== 'audio' || !part.spoken) {
    throw refused('Only spoken answers can be truncated.', 'invalid_value', 'item_id');
  }
  const whole = part.spoken.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  // Players round: a moment more than there is means all of it.
  if (audioEndMs > whole + 100) {
    const sentence = `audio_end_ms is ${audioEndMs}, and the audio of this item has ${Math.round(whole)} ms.`;
    throw refused(sentence, 'invalid_value', 'audio_end_ms');
  }
  let left = audioEndMs;
  const played: Spoken[] = [];
  for (const { text: sentence, milliseconds } of part.spoken) {
    const share = Math.min(1, milliseconds > 0 ? left / milliseconds : 1);
    if (left <= 0) break;
    played.push({ text: share < 1 ? firstWords(sentence, share) : sentence, milliseconds: share * milliseconds });
    left -= milliseconds;
  }
  part.spoken.splice(0, part.spoken.length, ...played);
  part.transcript = played.map((one) => one.text).join('');
}

/** The words of the first part of a sentence; the one in whose middle it ends is not among them. */
function firstWords(sentence: string, share: number): string {
  const end = Math.floor(sentence.length * share);
  const cut = sentence.slice(0, end);
  return /^\S/.test(sentence.slice(end)) ? cut.replace(/\S+$/u, '') : cut;
}

/** The conversation as the chat service takes it. Items without text, such as noise, are left out. */
export function messagesOf(instructions: string, items: readonly Item[]): readonly Message[] {
  const messages: Message[] = instructions.trim() === '' ? [] : [{ role: 'system', content: text(instructions) }];
  const names = new Map<string, string>();
  for (const item of items) {
    switch (item.type) {
      case 'message': {
        const content = textOf(item);
        if (content.trim() !== '') messages.push({ role: item.role, content: text(content) });
        break;
      }
      case 'call': {
        names.set(item.callId, item.name);
        appendCall(messages, { id: item.callId, name: item.name, json: item.arguments });
        break;
      }
      case 'call-output': {
        const { callId, output } = item;
        messages.push({ role: 'tool', content: text(output), callId, toolName: names.get(callId) });
        break;
      }
    }
  }
  return messages;
}

/** Calls of one answer are one turn. */
function appendCall(messages: Message[], call: ToolCallRecord): void {
  const last = messages.at(-1);
  if (last?.role === 'assistant')
    messages[messages.length - 1] = { ...last, toolCalls: [...(last.toolCalls ?? []), call] };
  else messages.push({ role: 'assistant', content: [], toolCalls: [call] });
}

/** Without the oldest half of the turns, for a context that is full; undefined where only the last turn is left. */
export function withoutOldest(messages: readonly Message[]): readonly Message[] | undefined {
  const system = messages[0]?.role === 'system' ? messages.slice(0, 1) : [];
  const turns = messages.slice(system.length);
  const rest = turns.slice(Math.max(1, turns.length >> 1));
  // A result without its call, or an answer without its question, confuses templates.
  const first = rest.findIndex(({ role }) => role === 'user');
  return first === -1 ? undefined : [...system, ...rest.slice(first)];
}

function textOf({ parts }: MessageItem): string {
  return parts.map((part) => (part.type === 'text' ? part.text : (part.transcript ?? ''))).join('\n');
}

function lengthOf(item: Item): number {
  if (item.type === 'message') return textOf(item).length;
  return item.type === 'call' ? item.arguments.length : item.output.length;
}

export function refused(sentence: string, wireCode: string, field?: string): AppError<'event-refused'> {
  return new AppError('event-refused', { sentence, wireCode, ...(field === undefined ? {} : { field }) });
}
