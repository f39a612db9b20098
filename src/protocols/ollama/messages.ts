import { type Content, type Message, type ToolCallRecord, text } from '../../chat/messages.ts';
import type { Sliced } from '../../core/slices.ts';
import {
  isAbsent,
  isObject,
  optionalList,
  orElse,
  readAt,
  reader,
  readObject,
  readText,
  wrong,
} from '../fields/readers.ts';
import type { Attachments } from '../media.ts';

/** The conversation of a chat request. */
export function* decodeMessages(value: unknown, attachments: Attachments): Sliced<readonly Message[]> {
  const list = optionalList(value, 'messages') ?? [];
  let unanswered = new OpenCalls([]);
  const messages: Message[] = [];
  for (const [index, entry] of list.entries()) {
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
export const readImages = reader<readonly string[]>(
  'an array of base64 strings',
  (value) => Array.isArray(value) && value.every((entry) => typeof entry === 'string'),
);

export function decodeImages(images: readonly string[], field: string, attachments: Attachments): Content {
  return images.map((data, index) => attachments.add({ kind: undefined, data, field: `${field}[${index}]` }));
}

const anyText = orElse(readText, '');
const anyImages = orElse(readImages, []);

interface Place {
  readonly where: string;
  readonly index: number;
  readonly attachments: Attachments;
}

function decodeMessage(entry: unknown, { where, index, attachments }: Place): Message {
  const sent = readObject(entry, where);
  const textAt = (name: string): string => readAt(sent, name, where, anyText);
  const images = decodeImages(readAt(sent, 'images', where, anyImages), `${where}.images`, attachments);
  const words = textAt('content');
  // What a message shows comes before what it says of it.
  const content = [...images, ...text(words)];
  const role = textAt('role').toLowerCase();
  switch (role) {
    case '':
      throw wrong(`${where}.role`, 'system, user, assistant or tool');
    case 'system':
    case 'user':
      return { role, content };
    case 'assistant': {
      const reasoning = textAt('thinking');
      const toolCalls = decodeCalls(sent.tool_calls, `${where}.tool_calls`, index);
      return {
        role,
        content,
        ...(reasoning === '' ? {} : { reasoning }),
        ...(toolCalls.length === 0 ? {} : { toolCalls }),
      };
    }
    case 'tool': {
      const callId = textAt('tool_call_id');
      const toolName = textAt('tool_name') || textAt('name');
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
  return (optionalList(value, where) ?? []).map((call, index) => {
    const field = `${where}[${index}].function`;
    const target = isObject(call) ? call.function : undefined;
    if (!isObject(call) || !isObject(target)) throw wrong(field, 'an object');
    const name = readAt(target, 'name', field, anyText);
    if (name === '') throw wrong(`${field}.name`, 'a name');
    // A made-up id depends on the place alone: the same history must give the same prompt, or no cache would help.
    const id = readAt(call, 'id', `${where}[${index}]`, anyText) || `call_${message}_${index}`;
    return { id, name, json: argumentsText(target.arguments, `${field}.arguments`) };
  });
}

/** An object in this dialect; apps that keep the form of another one send the JSON text of it. */
function argumentsText(value: unknown, field: string): string {
  if (isAbsent(value)) return '{}';
  if (isObject(value)) return JSON.stringify(value);
  if (typeof value === 'string') return value === '' ? '{}' : value;
  throw wrong(field, 'an object');
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
