import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import type { StoredItem } from '../../store/responses.ts';
import { isAbsent, isObject, readAt, readText, wrong } from '../fields/readers.ts';

import type { CreateFields } from './fields.ts';

/** An item of the request, and where it stood in it: what is wrong with it is told by that name. */
export interface InputItem {
  readonly item: StoredItem;
  readonly at: string;
}

export interface ReadInput {
  readonly items: readonly InputItem[];
  /** References to items that nobody kept. */
  readonly missing: readonly string[];
}

export interface InputParts {
  readonly newId: (prefix: string) => string;
  readonly storedItem: (id: string) => StoredItem | undefined;
}

/** The beginnings of ids by which clients tell kinds of items apart. */
const idPrefixes = new Map([
  ['message', 'msg_'],
  ['function_call', 'fc_'],
  ['function_call_output', 'fco_'],
  ['custom_tool_call', 'ctc_'],
  ['custom_tool_call_output', 'ctco_'],
  ['reasoning', 'rs_'],
]);

/** The input in its long form: a text is one message of the user, and every item has a type and an id. */
export function* readInput({ input }: Pick<CreateFields, 'input'>, parts: InputParts): Sliced<ReadInput> {
  if (typeof input === 'string') {
    const content = [{ type: 'input_text', text: input }];
    const item = { id: parts.newId('msg_'), type: 'message', status: 'completed', role: 'user', content };
    return { items: [{ item, at: 'input' }], missing: [] };
  }
  if (!Array.isArray(input)) throw wrong('input', 'a string or an array of items');
  const missing: string[] = [];
  const items: InputItem[] = [];
  for (const [index, value] of input.entries()) {
    const at = `input[${index}]`;
    const sent = longForm(value, at, parts.newId);
    const item = sent.type === 'item_reference' ? parts.storedItem(readAt(sent, 'id', at, readText)) : sent;
    if (item) items.push({ item, at });
    else missing.push(at);
    yield;
  }
  return { items, missing };
}

function longForm(value: unknown, at: string, newId: InputParts['newId']): StoredItem {
  if (!isObject(value)) throw wrong(at, 'an object');
  const type = typeOf(value, at);
  const id = typeof value.id === 'string' && value.id !== '' ? value.id : newId(idPrefixes.get(type) ?? 'item_');
  const { content } = value;
  if (type !== 'message' || typeof content !== 'string') return { ...value, id, type };
  const part = value.role === 'assistant' ? 'output_text' : 'input_text';
  return { ...value, id, type, content: [{ type: part, text: content }] };
}

/** Short messages have no type, and some clients leave it out of references. */
function typeOf(value: JsonObject, at: string): string {
  if (typeof value.type === 'string') return value.type;
  if (!isAbsent(value.type)) throw wrong(`${at}.type`, 'a string');
  if (!isAbsent(value.role)) return 'message';
  if (typeof value.id === 'string' && Object.keys(value).every((key) => key === 'id' || key === 'type')) {
    return 'item_reference';
  }
  throw wrong(at, 'an item with a type, or a message with a role');
}
