import { AppError, asAppError } from '../../core/errors.ts';
import { emptyStart, type GenerationEvent, unreachable } from '../../core/events.ts';
import { commentFrame, namedFrame } from '../../http/sse.ts';
import { ending, type Finish, type ReplyFacts, type Start, usageOf } from './ending.ts';
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
