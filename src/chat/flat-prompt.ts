import type { Sliced } from '../core/slices.ts';
import type { ChatTags } from './adapters/adapter.ts';
import { type Conversation, flatContent, type Message, prefillOf, type Tool } from './messages.ts';

export interface FlatPromptOptions {
  /** A last turn of the assistant is continued rather than answered. */
  readonly continueAssistantTurn: boolean;
  readonly stop: readonly string[];
  readonly memory?: string;
  /** The client named the tool that must be called, so the reply has to be allowed to open a call. */
  readonly toolForced?: boolean;
}

export interface ChatPrompt {
  readonly prompt: string;
  readonly memory: string;
  readonly stop: readonly string[];
}

/** A model that sees earlier calls in this form tends to write one itself instead of answering. */
const callOpening = '[Made a function call';

/** A conversation as plain text between the tags of an adapter: for models whose own template is not rendered. */
export function* flatPrompt(
  conversation: Conversation,
  tags: ChatTags,
  options: FlatPromptOptions,
): Sliced<ChatPrompt> {
  const { messages, media, tools } = conversation;
  const continued = options.continueAssistantTurn && prefillOf(messages, media) !== undefined;
  // An id says nothing where it cannot be mistaken, and to a small model its digits are noise.
  const named = messages.some((one) => one.role === 'assistant' && (one.toolCalls?.length ?? 0) > 1);
  const turns: string[] = [];
  for (const [index, message] of messages.entries()) {
    const [start, end] = tagsOf(message, tags);
    const open = continued && index === messages.length - 1;
    turns.push(start + turnText(message, media, named) + (open ? '' : end));
    yield;
  }
  return {
    prompt: tags.chatStart + turns.join('') + (continued ? '' : tags.assistantGen),
    memory: toolListing(tools, tags) + (options.memory ?? ''),
    stop: stopTexts(messages, tags, options),
  };
}

function tagsOf(message: Message, tags: ChatTags): readonly [start: string, end: string] {
  switch (message.role) {
    case 'system':
      return [tags.systemStart, tags.systemEnd];
    case 'user':
      return [tags.userStart, tags.userEnd];
    case 'assistant':
      return [tags.assistantStart, tags.assistantEnd];
    case 'tool':
      return [tags.toolsStart, tags.toolsEnd];
    case 'other':
      return ['', ''];
  }
}

function turnText(message: Message, media: Conversation['media'], named: boolean): string {
  const content = flatContent(message.content, media);
  if (message.role === 'tool') {
    const which = named && message.callId ? ` ${message.callId}` : '';
    return `\n[Received results of function call${which}]\n${content}`;
  }
  if (message.role !== 'assistant') return content;
  const calls = (message.toolCalls ?? []).map(
    ({ id, name, json }) => `\n${callOpening}${named ? ` ${id}` : ''} to ${name} with arguments ${json}]\n`,
  );
  return content + calls.join('');
}

/** Names and types only: the whole schemas would push the conversation out of a small context. */
function toolListing(tools: readonly Tool[], tags: ChatTags): string {
  if (tools.length === 0) return '';
  const listing = tools.map(({ name, description, parameters }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    parameters: propertyTypes(parameters),
  }));
  return `${tags.systemStart}Available Tools:\n${JSON.stringify(listing)}\n${tags.systemEnd}`;
}

export function propertyTypes(parameters: Tool['parameters']): Readonly<Record<string, unknown>> {
  const properties = parameters.properties;
  if (typeof properties !== 'object' || properties === null) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]: [string, unknown]) => [
      name,
      (schema as { type?: unknown } | null)?.type ?? 'any',
    ]),
  );
}

function stopTexts(messages: readonly Message[], tags: ChatTags, options: FlatPromptOptions): readonly string[] {
  const nextTurn = tags.userStart.trim();
  const answersTool = messages.at(-1)?.role === 'tool' && options.toolForced !== true;
  const added = [...(nextTurn === '' ? [] : [nextTurn]), ...(answersTool ? [callOpening] : [])];
  return [...new Set([...options.stop, ...added])];
}
