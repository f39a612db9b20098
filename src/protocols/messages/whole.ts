import { AppError } from '../../core/errors.ts';
import { type GenerationEvent, unreachable } from '../../core/events.ts';
import type { Shortfall } from '../dialect.ts';
import { partialObject } from '../partial-json.ts';
import { ending, type Finish, type ReplyFacts, type Start, usageOf } from './ending.ts';

export interface WholeReply {
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
