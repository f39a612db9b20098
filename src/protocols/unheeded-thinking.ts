import type { ChatRequest } from '../chat/request.ts';
import type { ChatService } from '../chat/service.ts';
import type { JsonObject } from '../http/body.ts';
import { isObject } from './fields/readers.ts';

/** Where the families let a client say that it wants no thinking. */
const places: readonly (readonly string[])[] = [
  ['chat_template_kwargs', 'enable_thinking'],
  ['reasoning_effort'],
  ['reasoning', 'effort'],
  ['reasoning', 'enabled'],
  ['thinking'],
  ['think'],
];

/** The fields that ask for a reply without thinking, where the format of the prompt has no way to say so. */
export async function unheededThinking(
  body: JsonObject,
  request: ChatRequest,
  chat: Pick<ChatService, 'thinksAnyway'>,
): Promise<readonly string[]> {
  if (!(await chat.thinksAnyway(request))) return [];
  return places.filter((path) => isOff(valueAt(body, path))).map((path) => path.join('.'));
}

function valueAt(body: JsonObject, path: readonly string[]): unknown {
  return path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), body);
}

function isOff(value: unknown): boolean {
  return value === false || value === 'none' || value === 'off' || (isObject(value) && value.type === 'disabled');
}
