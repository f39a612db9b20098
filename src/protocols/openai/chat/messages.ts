import { type Content, type Message, type ToolCallRecord, text } from '../../../chat/messages.ts';
import type { Sliced } from '../../../core/slices.ts';
import type { JsonObject } from '../../../http/body.ts';
import { isAbsent, isObject } from '../../controls/fields.ts';
import type { Attachments } from '../../media.ts';
import { optionalList, optionalObject, optionalText, requiredText, wrong } from '../fields.ts';
import { decodeContent } from './content.ts';

type Assistant = Message & { role: 'assistant' };

export function* decodeMessages(value: unknown, attachments: Attachments): Sliced<readonly Message[]> {
  if (!Array.isArray(value) || value.length === 0) throw wrong('messages', 'an array that is not empty');
  const messages: Message[] = [];
  const around: Surroundings = { called: new Map(), attachments };
  for (const [index, entry] of value.entries()) {
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
  const role = requiredText(message, 'role', `${path}.role`);
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
    optionalText(message, 'reasoning_content', `${path}.reasoning_content`) ??
    optionalText(message, 'reasoning', `${path}.reasoning`);
  const refusal = optionalText(message, 'refusal', `${path}.refusal`);
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
  const calls = optionalList(message, 'tool_calls', `${path}.tool_calls`) ?? [];
  return calls.map((call, index) => {
    const place = `${path}.tool_calls[${index}]`;
    if (!isObject(call)) throw wrong(place, 'an object with id and function');
    const id = optionalText(call, 'id', `${place}.id`) ?? '';
    const custom = optionalObject(call, 'custom', `${place}.custom`);
    if (custom) {
      const input = optionalText(custom, 'input', `${place}.custom.input`) ?? '';
      return { id, name: requiredText(custom, 'name', `${place}.custom.name`), json: JSON.stringify({ input }) };
    }
    const called = optionalObject(call, 'function', `${place}.function`) ?? {};
    return { id, ...namedCall(called, `${place}.function`) };
  });
}

function legacyCall(message: JsonObject, path: string): readonly ToolCallRecord[] {
  const called = optionalObject(message, 'function_call', `${path}.function_call`);
  return called ? [{ id: '', ...namedCall(called, `${path}.function_call`) }] : [];
}

/** Arguments are JSON text; some clients send them as the object itself. */
function namedCall(called: JsonObject, path: string): { readonly name: string; readonly json: string } {
  const name = requiredText(called, 'name', `${path}.name`);
  if (isObject(called.arguments)) return { name, json: JSON.stringify(called.arguments) };
  return { name, json: optionalText(called, 'arguments', `${path}.arguments`) || '{}' };
}

function noteCalls({ toolCalls = [] }: Assistant, called: Map<string, string>): void {
  // Of two calls in one message with the same id the first one counts.
  for (const { id, name } of toolCalls.toReversed()) called.set(id, name);
}

function decodeResult(message: JsonObject, path: string, { called, attachments }: Surroundings): Message {
  const callId = optionalText(message, 'tool_call_id', `${path}.tool_call_id`);
  const toolName =
    optionalText(message, 'name', `${path}.name`) ?? (callId === undefined ? undefined : called.get(callId));
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
export function hasSpeakerNames(value: unknown): boolean {
  const spoken = ['system', 'developer', 'user', 'assistant'];
  return (
    Array.isArray(value) &&
    value.some((message) => isObject(message) && spoken.includes(String(message.role)) && !isAbsent(message.name))
  );
}
