import type { Usage } from '../../core/events.ts';
import type { JsonObject } from '../../http/body.ts';
import type { CallItem, Conversation, Item, ItemPart, MessageItem, Spoken } from './conversation.ts';
import type { OutputPosition, ResponseEnd, ResponseState, ServerEvent } from './encode.ts';
import type { ResponseSettings } from './fields.ts';

interface ResponseWriterDeps {
  readonly id: string;
  readonly settings: ResponseSettings;
  /** Undefined if the answer is not to be part of it. */
  readonly conversation: Conversation | undefined;
  readonly conversationId: string;
  readonly metadata: JsonObject | null;
  /** Names of fields without effect. */
  readonly ignored: readonly string[];
  readonly newId: (prefix: string) => string;
  readonly send: (event: ServerEvent) => void;
}

type OpenItem =
  | { readonly item: MessageItem; readonly part: ItemPart; readonly spoken: Spoken[] }
  | { readonly item: CallItem; readonly part?: undefined };

/** Sends the events of one response: items, parts and deltas in the order of the protocol. Silent once it has finished. */
export class ResponseWriter {
  readonly #output: Item[] = [];
  #open: OpenItem | undefined;
  #end: ResponseEnd | undefined;
  #usage: Usage | undefined;

  constructor(private readonly deps: ResponseWriterDeps) {}

  get id(): string {
    return this.deps.id;
  }

  get finished(): boolean {
    return this.#end !== undefined;
  }

  begin(): void {
    const { send, ignored } = this.deps;
    send({ type: 'response.created', response: this.#state(), ignored });
  }

  /** Text of an answer that is not spoken. */
  text(delta: string): void {
    const open = this.#message();
    if (open?.part.type !== 'text') return;
    open.part.text += delta;
    this.deps.send({ type: 'response.output_text.delta', ...this.#part(open.item), delta });
  }

  /** Text whose audio follows. */
  sentence(text: string): void {
    const open = this.#message();
    if (open?.part.type !== 'audio') return;
    open.part.transcript = `${open.part.transcript ?? ''}${text}`;
    open.spoken.push({ text, milliseconds: 0 });
    this.deps.send({ type: 'response.output_audio_transcript.delta', ...this.#part(open.item), delta: text });
  }

  /** Audio of the last sentence. */
  audio(bytes: Uint8Array, milliseconds: number): void {
    if (this.finished || !this.#open?.part) return;
    const last = this.#open.spoken.at(-1);
    if (last) last.milliseconds += milliseconds;
    this.deps.send({ type: 'response.output_audio.delta', ...this.#part(this.#open.item), delta: bytes });
  }

  callStart(callId: string, name: string): void {
    if (this.finished) return;
    this.#close('completed');
    const id = this.deps.newId('item_');
    const item: CallItem = { type: 'call', id, status: 'in_progress', callId, name, arguments: '' };
    this.#open = { item };
    this.#add(item);
  }

  callDelta(delta: string): void {
    if (this.finished || !this.#open || this.#open.part) return;
    const { item } = this.#open;
    item.arguments += delta;
    this.deps.send({
      type: 'response.function_call_arguments.delta',
      ...this.#position(item),
      call_id: item.callId,
      delta,
    });
  }

  callEnd(): void {
    if (!this.finished && this.#open?.item.type === 'call') this.#close('completed');
  }

  usage(usage: Usage): void {
    this.#usage = usage;
  }

  finish(end: ResponseEnd): void {
    if (this.finished) return;
    this.#close(end.type === 'completed' ? 'completed' : 'incomplete');
    this.#end = end;
    this.deps.send({ type: 'response.done', response: this.#state(), ignored: [] });
  }

  #message(): Extract<OpenItem, { item: MessageItem }> | undefined {
    if (this.finished) return undefined;
    if (this.#open?.part) return this.#open;
    this.#close('completed');
    const { newId, settings, send } = this.deps;
    const spoken: Spoken[] = [];
    const part: ItemPart =
      settings.modality === 'text' ? { type: 'text', text: '' } : { type: 'audio', transcript: '', spoken };
    const item: MessageItem = {
      type: 'message',
      id: newId('item_'),
      role: 'assistant',
      status: 'in_progress',
      parts: [],
    };
    this.#add(item);
    item.parts.push(part);
    send({ type: 'response.content_part.added', ...this.#part(item), part: partBody(part) });
    this.#open = { item, part, spoken };
    return this.#open;
  }

  #add(item: Item): void {
    const { conversation, send } = this.deps;
    this.#output.push(item);
    const { item_id: _, ...position } = this.#position(item);
    send({ type: 'response.output_item.added', ...position, item });
    if (conversation) send({ type: 'conversation.item.added', previous_item_id: conversation.add(item), item });
  }

  #close(status: 'completed' | 'incomplete'): void {
    const open = this.#open;
    if (!open) return;
    this.#open = undefined;
    const { send, conversation } = this.deps;
    const { item } = open;
    const part = this.#part(item);
    const { item_id, content_index: _, ...position } = part;
    item.status = status;
    if (!open.part) {
      const { callId: call_id, name, arguments: json } = open.item;
      send({ type: 'response.function_call_arguments.done', ...position, item_id, call_id, name, arguments: json });
    } else {
      if (open.part.type === 'text') send({ type: 'response.output_text.done', ...part, text: open.part.text });
      else {
        send({ type: 'response.output_audio.done', ...part });
        send({ type: 'response.output_audio_transcript.done', ...part, transcript: open.part.transcript ?? '' });
      }
      send({ type: 'response.content_part.done', ...part, part: partBody(open.part) });
    }
    send({ type: 'response.output_item.done', ...position, item });
    const items: readonly Item[] = conversation?.items ?? [];
    const index = items.indexOf(item);
    if (index !== -1) send({ type: 'conversation.item.done', previous_item_id: items[index - 1]?.id ?? null, item });
  }

  #position(item: Item): OutputPosition {
    return { response_id: this.deps.id, item_id: item.id, output_index: this.#output.indexOf(item) };
  }

  /** An answer has one part. */
  #part(item: Item) {
    return { ...this.#position(item), content_index: 0 };
  }

  #state(): ResponseState {
    const { id, settings, conversation, conversationId, metadata } = this.deps;
    return {
      id,
      settings,
      conversationId: conversation ? conversationId : undefined,
      metadata,
      output: this.#output,
      end: this.#end,
      usage: this.#usage,
    };
  }
}

/** Of a part of an answer. */
function partBody(part: ItemPart): object {
  return part.type === 'text'
    ? { type: 'text', text: part.text }
    : { type: 'audio', transcript: part.transcript ?? '' };
}
