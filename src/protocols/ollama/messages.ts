import { type Content, type Message, type ToolCallRecord, text } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../controls/fields.ts';
import type { Attachments } from '../media.ts';

/** The conversation of a chat request. */
export function* decodeMessages(value: unknown, attachments: Attachments): Sliced<readonly Message[]> {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw new AppError('invalid-field', { field: 'messages', expected: 'an array' });
  let unanswered = new OpenCalls([]);
  const messages: Message[] = [];
  for (const [index, entry] of value.entries()) {
    const message = decodeMessage(entry, { where: `messages[${index}]`, index, attachments });
    if (message.role === 'assistant') unanswered = new OpenCalls(message.toolCalls ?? []);
    const call =
      message.role === 'tool' && message.callId === undefined ? unanswered.take(message.toolName) : undefined;
    messages.push(call ? ({ toolName: call.name, ...message, callId: call.id } as Message) : message);
    yield;
  }
  return messages;
}

/** Pictures in base64; clients put sounds here too, for models that hear. */
export function decodeImages(value: unknown, field: string, attachments: Attachments): Content {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string')) {
    throw new AppError('invalid-field', { field, expected: 'an array of base64 strings' });
  }
  return value.map((data, index) => attachments.add({ kind: undefined, data, field: `${field}[${index}]` }));
}

interface Place {
  readonly where: string;
  readonly index: number;
  readonly attachments: Attachments;
}

function decodeMessage(entry: unknown, { where, index, attachments }: Place): Message {
  if (!isObject(entry)) throw new AppError('invalid-field', { field: where, expected: 'an object' });
  const images = decodeImages(entry.images, `${where}.images`, attachments);
  const words = textAt(entry, 'content', where);
  // What a message shows comes before what it says of it.
  const content = [...images, ...text(words)];
  const role = textAt(entry, 'role', where).toLowerCase();
  switch (role) {
    case '':
      throw new AppError('invalid-field', { field: `${where}.role`, expected: 'system, user, assistant or tool' });
    case 'system':
    case 'user':
      return { role, content };
    case 'assistant': {
      const reasoning = textAt(entry, 'thinking', where);
      const toolCalls = decodeCalls(entry.tool_calls, `${where}.tool_calls`, index);
      return {
        role,
        content,
        ...(reasoning === '' ? {} : { reasoning }),
        ...(toolCalls.length === 0 ? {} : { toolCalls }),
      };
    }
    case 'tool': {
      const callId = textAt(entry, 'tool_call_id', where);
      const toolName = textAt(entry, 'tool_name', where) || textAt(entry, 'name', where);
      return {
        role,
        content: [...images, ...attachments.toolResult(words, `${where}.content`)],
        ...(callId === '' ? {} : { callId }),
        ...(toolName === '' ? {} : { toolName }),
      };
    }
    default:
      return { role: 'other', roleName: role, content };
  }
}

function decodeCalls(value: unknown, where: string, message: number): ToolCallRecord[] {
  if (isAbsent(value)) return [];
  if (!Array.isArray(value)) throw new AppError('invalid-field', { field: where, expected: 'an array' });
  return value.map((call: unknown, index) => {
    const field = `${where}[${index}].function`;
    const target = isObject(call) ? call.function : undefined;
    if (!isObject(call) || !isObject(target)) throw new AppError('invalid-field', { field, expected: 'an object' });
    const name = textAt(target, 'name', field);
    if (name === '') throw new AppError('invalid-field', { field: `${field}.name`, expected: 'a name' });
    // A made-up id depends on the place alone: the same history must give the same prompt, or no cache would help.
    const id = textAt(call, 'id', `${where}[${index}]`) || `call_${message}_${index}`;
    return { id, name, json: argumentsText(target.arguments, `${field}.arguments`) };
  });
}

/** An object in this dialect; apps that keep the form of another one send the JSON text of it. */
function argumentsText(value: unknown, field: string): string {
  if (isAbsent(value)) return '{}';
  if (isObject(value)) return JSON.stringify(value);
  if (typeof value === 'string') return value === '' ? '{}' : value;
  throw new AppError('invalid-field', { field, expected: 'an object' });
}

/** Results come without the id of their call here; they belong to the first open call of that name, or simply the first. */
class OpenCalls {
  readonly #open: Set<ToolCallRecord>;
  /** Goes on from the last one that it gave: from the front it would walk over all that are gone, each time. */
  readonly #inOrder: Iterator<ToolCallRecord>;
  /** In their order; those that were taken as simply the first stand here still. */
  readonly #byName = new Map<string, Iterator<ToolCallRecord>>();

  constructor(calls: readonly ToolCallRecord[]) {
    this.#open = new Set(calls);
    this.#inOrder = this.#open.values();
    for (const [name, own] of groupedByName(calls)) this.#byName.set(name, own.values());
  }

  take(toolName: string | undefined): ToolCallRecord | undefined {
    const call = toolName === undefined ? this.#first() : this.#nextNamed(toolName);
    if (call) this.#open.delete(call);
    return call;
  }

  #first(): ToolCallRecord | undefined {
    const step = this.#inOrder.next();
    return step.done ? undefined : step.value;
  }

  #nextNamed(name: string): ToolCallRecord | undefined {
    const own = this.#byName.get(name);
    for (let step = own?.next(); step && !step.done; step = own?.next()) {
      if (this.#open.has(step.value)) return step.value;
    }
    return undefined;
  }
}

function groupedByName(calls: readonly ToolCallRecord[]): ReadonlyMap<string, readonly ToolCallRecord[]> {
  const groups = new Map<string, ToolCallRecord[]>();
  for (const call of calls) {
    const own = groups.get(call.name);
    if (own) own.push(call);
    else groups.set(call.name, [call]);
  }
  return groups;
}

function textAt(object: JsonObject, name: string, where: string): string {
  const value = object[name];
  if (isAbsent(value)) return '';
  if (typeof value !== 'string')
    throw new AppError('invalid-field', { field: `${where}.${name}`, expected: 'a string' });
  return value;
}
