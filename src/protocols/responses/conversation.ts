import { type Content, joinContent, type Message, type ToolCallRecord, wordsOf } from '../../chat/messages.ts';
import type { Sliced } from '../../core/slices.ts';
import type { StoredItem } from '../../store/responses.ts';
import { isAbsent, isObject, optionalText, readAt, readText, wrong } from '../fields/readers.ts';
import type { Attachments } from '../media.ts';
import { readContent } from './content.ts';
import type { InputItem } from './input.ts';
import { customArguments, knownName, type OfferedTool } from './tools.ts';

export interface ReadConversation {
  readonly messages: readonly Message[];
  /** Items that mean nothing to this server, by place and type. */
  readonly skipped: readonly string[];
}

/** Thinking, text and calls that come in a row are one turn of the assistant. */
interface Turn {
  readonly reasoning: string[];
  readonly contents: Content[];
  readonly calls: ToolCallRecord[];
}

const roles = new Map<unknown, 'system' | 'user'>([
  ['system', 'system'],
  ['developer', 'system'],
  ['user', 'user'],
]);

export function* readConversation(
  items: readonly InputItem[],
  offered: readonly OfferedTool[],
  attachments: Attachments,
): Sliced<ReadConversation> {
  const messages: Message[] = [];
  const skipped: string[] = [];
  const toolNames = new Map<string, string>();
  let turn: Turn | undefined;

  const own = (): Turn => {
    turn ??= { reasoning: [], contents: [], calls: [] };
    return turn;
  };
  const others = (message: Message): void => {
    if (turn) messages.push(turnMessage(turn));
    turn = undefined;
    messages.push(message);
  };
  const call = (item: StoredItem, at: string, json: string): void => {
    const id = readAt(item, 'call_id', at, readText);
    const name = knownName(offered, readAt(item, 'name', at, readText), readAt(item, 'namespace', at, optionalText));
    toolNames.set(id, name);
    own().calls.push({ id, name, json });
  };

  for (const { item, at } of items) {
    yield;
    switch (item.type) {
      case 'message': {
        const content = readContent(item.content, `${at}.content`, attachments);
        const role = roles.get(item.role);
        if (role) others({ role, content });
        else if (item.role === 'assistant') own().contents.push(content);
        else throw wrong(`${at}.role`, '"user", "assistant", "system" or "developer"');
        break;
      }
      case 'reasoning':
        own().reasoning.push(reasoningText(item, at, attachments));
        break;
      case 'function_call':
        call(item, at, argumentsText(item, at));
        break;
      case 'custom_tool_call':
        call(item, at, customArguments(readAt(item, 'input', at, readText)));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const callId = readAt(item, 'call_id', at, readText);
        const toolName = toolNames.get(callId);
        const content = outputContent(item, at, attachments);
        others({ role: 'tool', content, callId, ...(toolName === undefined ? {} : { toolName }) });
        break;
      }
      default:
        skipped.push(`${at} (${item.type})`);
    }
  }
  if (turn) messages.push(turnMessage(turn));
  return { messages, skipped };
}

function turnMessage({ reasoning, contents, calls }: Turn): Message {
  const thought = reasoning.filter((part) => part !== '').join('\n\n');
  return {
    role: 'assistant',
    content: joinContent(contents, '\n\n'),
    ...(thought === '' ? {} : { reasoning: thought }),
    ...(calls.length > 0 ? { toolCalls: calls } : {}),
  };
}

/** A few clients send the arguments as the object that the text stands for. */
function argumentsText(item: StoredItem, at: string): string {
  return isObject(item.arguments) ? JSON.stringify(item.arguments) : readAt(item, 'arguments', at, readText);
}

function outputContent(item: StoredItem, at: string, attachments: Attachments): Content {
  const field = `${at}.output`;
  if (isAbsent(item.output)) throw wrong(field, 'a string or an array of content parts');
  if (typeof item.output === 'string') return attachments.toolResult(item.output, field);
  return readContent(item.output, field, attachments);
}

/** Any of the three may be null or empty: what a client sends back depends on what it keeps. */
function reasoningText(item: StoredItem, at: string, attachments: Attachments): string {
  const parts = (field: string): string =>
    readContent(item[field], `${at}.${field}`, attachments)
      .map((part) => wordsOf([part]))
      .join('\n\n');
  return parts('content') || parts('summary') || unsealed(readAt(item, 'encrypted_content', at, optionalText) ?? '');
}

/** Marks the thinking that this server handed out; what others sealed cannot be read. */
const seal = 'parley1.';

/**
 * The thinking in a form that clients without stored responses keep and send back untouched. It is not secret: the same
 * text stands beside it.
 */
export function sealed(thinking: string): string {
  return seal + Buffer.from(thinking).toString('base64');
}

function unsealed(content: string): string {
  return content.startsWith(seal) ? Buffer.from(content.slice(seal.length), 'base64').toString('utf8') : '';
}
