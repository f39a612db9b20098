import { AppError, asAppError } from '../../core/errors.ts';
import { type FinishReason, type GenerationEvent, type Usage, unreachable } from '../../core/events.ts';
import { emptyStart } from '../../core/unstarted.ts';
import { commentFrame, namedFrame } from '../../http/sse.ts';
import type { Shortfall } from '../dialect.ts';
import { partialObject } from '../partial-json.ts';
import { errorBody } from './errors.ts';

/** Also the sign of life while nothing else is to be told. */
export const ping = frame('ping', '');

const messageStop = frame('message_stop', '');

/**
 * A reply in this dialect is a list of content blocks of which one is open at a time: whatever begins another block, or
 * ends the reply, closes the open one first.
 */
export async function* encodeStream(events: AsyncIterable<GenerationEvent>, facts: ReplyFacts): AsyncGenerator<string> {
  const blocks = new Blocks();
  let start: Start | undefined;
  /** Clients keep a copy of the message and throw on whatever comes before it has begun. */
  const begin = (): string => {
    if (start) return '';
    start = unknownStart;
    return messageStart(unknownStart, facts);
  };
  const failure = (error: AppError): string => begin() + blocks.close() + errorFrame(error);
  try {
    for await (const event of events) {
      switch (event.type) {
        case 'start':
          start = event;
          yield messageStart(event, facts) + ping;
          break;
        case 'reasoning-delta':
          if (event.text !== '') yield blocks.thinking(event.text);
          break;
        case 'text-delta':
          if (event.text !== '') yield blocks.text(event.text);
          break;
        case 'tool-start':
          yield blocks.tool(event.id, event.name);
          break;
        case 'tool-delta':
          if (event.json !== '') yield blocks.delta(event.json);
          break;
        case 'tool-end':
          yield blocks.close();
          break;
        case 'prompt-logprobs':
          break;
        case 'warning':
          // No event of this dialect could carry it; a comment is seen by people and skipped by clients.
          yield commentFrame(`warning: ${JSON.stringify(event.text)}`);
          break;
        case 'finish':
          yield begin() + blocks.end(facts) + messageDelta(event, start, facts) + messageStop;
          return;
        case 'error':
          yield failure(event.error);
          return;
        default:
          unreachable(event);
      }
    }
  } catch (error) {
    yield failure(asAppError(error));
    return;
  }
  yield failure(new AppError('internal', { reason: 'the reply broke off' }));
}

/** Of a reply that ended before anything was known of it. */
const unknownStart = emptyStart(Number.POSITIVE_INFINITY, -1);

type Kind = 'thinking' | 'text' | 'tool_use';

const deltaFields: Record<Kind, string> = {
  thinking: '"type":"thinking_delta","thinking"',
  text: '"type":"text_delta","text"',
  tool_use: '"type":"input_json_delta","partial_json"',
};

/** Nobody here signs thinking, and nobody checks it when it comes back; but clients want the field. */
const unsigned = '"delta":{"type":"signature_delta","signature":""}';

class Blocks {
  #index = -1;
  #open: Kind | undefined;
  /** All of a delta up to its text: it is the same for every delta of a block, of which there may be thousands. */
  #beforeDelta = '';

  thinking(text: string): string {
    const opening = this.#open === 'thinking' ? '' : this.#begin('thinking', '"thinking":"","signature":""');
    return opening + this.delta(text);
  }

  text(text: string): string {
    const opening = this.#open === 'text' ? '' : this.#begin('text', '"text":""');
    return opening + this.delta(text);
  }

  tool(id: string, name: string): string {
    return this.#begin('tool_use', `"id":${JSON.stringify(id)},"name":${JSON.stringify(name)},"input":{}`);
  }

  /** One more piece of the open block. */
  delta(piece: string): string {
    return `${this.#beforeDelta}${JSON.stringify(piece)}}}\n\n`;
  }

  /** A reply that said nothing still has a content: clients look at its first block. */
  end({ warmUp }: ReplyFacts): string {
    const said = this.#index >= 0 || warmUp === true;
    return (said ? '' : this.#begin('text', '"text":""')) + this.close();
  }

  close(): string {
    if (this.#open === undefined) return '';
    const place = `"index":${this.#index}`;
    const signature = this.#open === 'thinking' ? frame('content_block_delta', `${place},${unsigned}`) : '';
    this.#open = undefined;
    return signature + frame('content_block_stop', place);
  }

  #begin(kind: Kind, fields: string): string {
    const closing = this.close();
    this.#open = kind;
    this.#index += 1;
    const place = `"index":${this.#index}`;
    this.#beforeDelta = `event: content_block_delta\ndata: {"type":"content_block_delta",${place},"delta":{${deltaFields[kind]}:`;
    return closing + frame('content_block_start', `${place},"content_block":{"type":"${kind}",${fields}}`);
  }
}

function messageStart({ promptTokens, cachedTokens }: Start, { id, model }: ReplyFacts): string {
  const message = {
    id,
    type: 'message',
    role: 'assistant',
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: usageOf({ promptTokens, cachedTokens, completionTokens: 0 }),
  };
  return frame('message_start', `"message":${JSON.stringify(message)}`);
}

function messageDelta(finish: Finish, start: Start | undefined, facts: ReplyFacts): string {
  const delta = JSON.stringify(ending(finish, start, facts));
  return frame('message_delta', `"delta":${delta},"usage":${JSON.stringify(usageOf(finish.usage))}`);
}

function errorFrame(error: AppError): string {
  return namedFrame('error', JSON.stringify(errorBody(error)));
}

/** Clients go by the name of the event or by the type in its data: both are needed, and are the same. */
function frame(type: string, fields: string): string {
  return namedFrame(type, `{"type":"${type}"${fields === '' ? '' : `,${fields}`}}`);
}

/** What stays the same in all events of one reply. */
export interface ReplyFacts {
  readonly id: string;
  readonly model: string;
  /** The stop texts that the request asked for: the server may add others of its own. */
  readonly stop: readonly string[];
  /** The length that the request was granted before the context was looked at. */
  readonly maxTokens: number;
  /** A prompt that is only read: its reply has no content at all. Every other reply has some, be it an empty text. */
  readonly warmUp?: boolean;
}

export type Start = Extract<GenerationEvent, { type: 'start' }>;
export type Finish = Extract<GenerationEvent, { type: 'finish' }>;

interface Ending {
  readonly stop_reason: string;
  readonly stop_sequence: string | null;
}

/** Text that somebody stopped is handed out as cut off: there is no other word that says it is not complete. */
const reasons: Record<FinishReason, string> = {
  stop: 'end_turn',
  length: 'max_tokens',
  'tool-calls': 'tool_use',
  aborted: 'max_tokens',
};

export function ending(finish: Finish, start: Start | undefined, { stop, maxTokens }: ReplyFacts): Ending {
  const { reason, cause, stopText } = finish;
  if (reason === 'stop' && cause === 'stop-text' && stopText !== undefined && stop.includes(stopText)) {
    return { stop_reason: 'stop_sequence', stop_sequence: stopText };
  }
  const contextFull = reason === 'length' && start !== undefined && start.maxTokens < maxTokens;
  return { stop_reason: contextFull ? 'model_context_window_exceeded' : reasons[reason], stop_sequence: null };
}

/** The prompt is counted in two parts here: what was found in the cache is not part of `input_tokens`. */
export function usageOf({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage): object {
  return {
    input_tokens: promptTokens - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: completionTokens,
    ...(reasoningTokens === undefined ? {} : { output_tokens_details: { thinking_tokens: reasoningTokens } }),
  };
}

interface WholeReply {
  readonly message: object;
  /** What the engine could not do as it was asked to. */
  readonly shortfall: Shortfall;
  /** The codes of what went another way than the client may expect. */
  readonly warnings: readonly string[];
}

type ContentBlock =
  | { readonly type: 'thinking'; thinking: string; readonly signature: '' }
  | { readonly type: 'text'; text: string }
  | { readonly type: 'tool_use'; readonly id: string; readonly name: string; json: string };

/** The sum of the events, with the blocks in the order in which the stream would have told them. */
export async function foldReply(events: AsyncIterable<GenerationEvent>, facts: ReplyFacts): Promise<WholeReply> {
  const blocks: ContentBlock[] = [];
  const warnings: string[] = [];
  let start: Start | undefined;
  let finish: Finish | undefined;
  for await (const event of events) {
    switch (event.type) {
      case 'start':
        start = event;
        break;
      case 'reasoning-delta':
      case 'text-delta':
        if (event.text !== '') addText(blocks, event.type === 'text-delta' ? 'text' : 'thinking', event.text);
        break;
      case 'tool-start':
        blocks.push({ type: 'tool_use', id: event.id, name: event.name, json: '' });
        break;
      case 'tool-delta': {
        const last = blocks.at(-1);
        if (last?.type === 'tool_use') last.json += event.json;
        break;
      }
      case 'tool-end':
      case 'prompt-logprobs':
        break;
      case 'warning':
        warnings.push(event.code);
        break;
      case 'finish':
        finish = event;
        break;
      case 'error':
        throw event.error;
      default:
        unreachable(event);
    }
  }
  if (!finish) throw new AppError('internal', { reason: 'the reply broke off' });
  return { message: messageOf(blocks, finish, start, facts), shortfall: start ?? {}, warnings };
}

const emptyText: ContentBlock = { type: 'text', text: '' };

function addText(blocks: ContentBlock[], type: 'text' | 'thinking', piece: string): void {
  const last = blocks.at(-1);
  if (type === 'text') {
    if (last?.type === 'text') last.text += piece;
    else blocks.push({ type, text: piece });
  } else if (last?.type === 'thinking') last.thinking += piece;
  else blocks.push({ type, thinking: piece, signature: '' });
}

function messageOf(
  blocks: readonly ContentBlock[],
  finish: Finish,
  start: Start | undefined,
  facts: ReplyFacts,
): object {
  return {
    id: facts.id,
    type: 'message',
    role: 'assistant',
    model: facts.model,
    content: (blocks.length > 0 || facts.warmUp ? blocks : [emptyText]).map(contentOf),
    ...ending(finish, start, facts),
    usage: usageOf(finish.usage),
  };
}

/** Of a call that was cut off there is what its arguments begin with; the reason of the end tells that it was. */
function contentOf(block: ContentBlock): object {
  if (block.type !== 'tool_use') return block;
  const { type, id, name, json } = block;
  return { type, id, name, input: partialObject(json) };
}

/**
 * A reply of no tokens: the prompt has been read into the cache, and the one token that the engine chose on the way is
 * nobody's business.
 */
export async function* withoutReply(events: AsyncIterable<GenerationEvent>): AsyncGenerator<GenerationEvent> {
  for await (const event of events) {
    if (event.type === 'start' || event.type === 'warning' || event.type === 'error') yield event;
    else if (event.type === 'finish') yield emptied(event);
  }
}

function emptied(finish: Extract<GenerationEvent, { type: 'finish' }>): GenerationEvent {
  const { promptTokens, cachedTokens } = finish.usage;
  const usage = { promptTokens, cachedTokens, completionTokens: 0 };
  return { type: 'finish', reason: 'length', cause: 'limit', usage, timings: finish.timings };
}
