import { type Content, type Message, type ToolCallRecord, text } from '../../../chat/messages.ts';
import type { Sliced } from '../../../core/slices.ts';
import type { JsonObject } from '../../../http/body.ts';
import {
  isAbsent,
  isObject,
  optionalList,
  optionalObject,
  optionalText,
  readAt,
  reader,
  readName,
  wrong,
} from '../../fields/readers.ts';
import { messagesSchema } from '../../fields/schemas.ts';
import type { Attachments } from '../../media.ts';
import { decodeContent } from './content.ts';

type Assistant = Message & { role: 'assistant' };

export const readMessages = reader<readonly unknown[]>(
  'an array that is not empty',
  (value) => Array.isArray(value) && value.length > 0,
  messagesSchema,
);

export function* decodeMessages(list: readonly unknown[], attachments: Attachments): Sliced<readonly Message[]> {
  const messages: Message[] = [];
  const around: Surroundings = { called: new Map(), attachments };
  for (const [index, entry] of list.entries()) {
    const path = `messages[${index}]`;
    if (!isObject(entry)) throw wrong(path, 'an object with role and content');
    const message = decodeMessage(entry, path, around);
    if (message.role === 'assistant') noteCalls(message, around.called);
    messages.push(message);
    yield;
  }
  return messages;
}

interface Surroundings {
  /** The tool of each call so far by its id. Clients may use an id twice; the newest call is the one that is answered. */
  readonly called: Map<string, string>;
  readonly attachments: Attachments;
}

function decodeMessage(message: JsonObject, path: string, around: Surroundings): Message {
  const role = readAt(message, 'role', path, readName);
  const content = () => decodeContent(message.content, `${path}.content`, around.attachments);
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: content() };
    case 'user':
      return { role: 'user', content: content() };
    case 'assistant':
      return decodeAssistant(message, path, around);
    case 'tool':
    case 'function':
      return decodeResult(message, path, around);
    default:
      return { role: 'other', roleName: role, content: content() };
  }
}

/** With calls, thinking or a refusal there need not be any content; without them there must be. */
function decodeAssistant(message: JsonObject, path: string, { attachments }: Surroundings): Assistant {
  const toolCalls = [...decodeCalls(message, path), ...legacyCall(message, path)];
  const reasoning =
    readAt(message, 'reasoning_content', path, optionalText) ?? readAt(message, 'reasoning', path, optionalText);
  const refusal = readAt(message, 'refusal', path, optionalText);
  const silent = isAbsent(message.content);
  if (silent && toolCalls.length === 0 && !reasoning && !refusal) {
    throw wrong(`${path}.content`, 'given where there are no tool_calls');
  }
  return {
    role: 'assistant',
    content: silent ? text(refusal ?? '') : decodeContent(message.content, `${path}.content`, attachments),
    ...(reasoning ? { reasoning } : {}),
    ...(toolCalls.length > 0 ? { toolCalls } : {}),
  };
}

function decodeCalls(message: JsonObject, path: string): readonly ToolCallRecord[] {
  const calls = readAt(message, 'tool_calls', path, optionalList) ?? [];
  return calls.map((call, index) => {
    const place = `${path}.tool_calls[${index}]`;
    if (!isObject(call)) throw wrong(place, 'an object with id and function');
    const id = readAt(call, 'id', place, optionalText) ?? '';
    const custom = readAt(call, 'custom', place, optionalObject);
    if (custom) {
      const input = readAt(custom, 'input', `${place}.custom`, optionalText) ?? '';
      return { id, name: readAt(custom, 'name', `${place}.custom`, readName), json: JSON.stringify({ input }) };
    }
    const called = readAt(call, 'function', place, optionalObject) ?? {};
    return { id, ...namedCall(called, `${place}.function`) };
  });
}

function legacyCall(message: JsonObject, path: string): readonly ToolCallRecord[] {
  const called = readAt(message, 'function_call', path, optionalObject);
  return called ? [{ id: '', ...namedCall(called, `${path}.function_call`) }] : [];
}

/** Arguments are JSON text; some clients send them as the object itself. */
function namedCall(called: JsonObject, path: string): { readonly name: string; readonly json: string } {
  const name = readAt(called, 'name', path, readName);
  if (isObject(called.arguments)) return { name, json: JSON.stringify(called.arguments) };
  return { name, json: readAt(called, 'arguments', path, optionalText) || '{}' };
}

function noteCalls({ toolCalls = [] }: Assistant, called: Map<string, string>): void {
  // Of two calls in one message with the same id the first one counts.
  for (const { id, name } of toolCalls.toReversed()) called.set(id, name);
}

function decodeResult(message: JsonObject, path: string, { called, attachments }: Surroundings): Message {
  const callId = readAt(message, 'tool_call_id', path, optionalText);
  const toolName =
    readAt(message, 'name', path, optionalText) ?? (callId === undefined ? undefined : called.get(callId));
  const field = `${path}.content`;
  const sent = isAbsent(message.content) ? [] : decodeContent(message.content, field, attachments);
  return {
    role: 'tool',
    content: sent.flatMap(
      (part): Content => (part.type === 'text' ? attachments.toolResult(part.text, field) : [part]),
    ),
    ...(callId === undefined ? {} : { callId }),
    ...(toolName === undefined ? {} : { toolName }),
  };
}

/** Names of speakers have no place in a prompt of today's templates; where one was sent, the client is told. */
export function hasSpeakerNames(messages: readonly unknown[]): boolean {
  const spoken = ['system', 'developer', 'user', 'assistant'];
  return messages.some(
    (message) => isObject(message) && spoken.includes(String(message.role)) && !isAbsent(message.name),
  );
}
