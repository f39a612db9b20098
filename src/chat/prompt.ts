import { inSlices, type Sliced } from '../core/slices.ts';
import type { ChatTags } from './adapters/adapter.ts';
import { type Conversation, flatContent, type Message, prefillOf, type Tool } from './messages.ts';
import type { InstructText } from './placeholders.ts';
import type { PromptTemplate } from './rendering/threads.ts';
import type { TemplateInput } from './template.ts';

export interface FlatPromptOptions {
  /** A last turn of the assistant is continued rather than answered. */
  readonly continueAssistantTurn: boolean;
  readonly stop: readonly string[];
  readonly memory?: string;
  /** The client named the tool to call, so the reply must be able to open a call. */
  readonly toolForced?: boolean;
}

interface ChatPromptOptions extends FlatPromptOptions, Omit<TemplateInput, 'conversation'> {
  readonly tags: ChatTags;
  /** Tags for a reply without thinking; undefined if the reply may think. */
  readonly silentTags?: ChatTags | undefined;
  /** The model's own template. */
  readonly template: PromptTemplate | undefined;
  readonly templateUse: TemplateUse;
  readonly signal?: AbortSignal;
}

/** Which conversations are rendered with the model's own template; the others use the adapter. */
export interface TemplateUse {
  /** Those without tools (`--jinja`). */
  readonly chats: boolean;
  /** All with tools (`--jinjatools`). */
  readonly tools: boolean;
  /** Those with tools or calls that the template shows, because the model's format of calls is known. */
  readonly listedTools: boolean;
}

export const noTemplate: TemplateUse = { chats: false, tools: false, listedTools: false };

export interface ChatPrompt extends InstructText {
  readonly by: 'template' | 'adapter';
  readonly warnings: readonly string[];
}

/** The prompt of a chat: by the model's template if possible, otherwise by the adapter. */
export async function chatPrompt(conversation: Conversation, options: ChatPromptOptions): Promise<ChatPrompt> {
  const { template, templateUse, tags, silentTags, signal } = options;
  const byAdapter = async (warnings: readonly string[]): Promise<ChatPrompt> => ({
    by: 'adapter',
    ...(await inSlices(flatPrompt(conversation, silentTags ?? tags, options), signal ? { signal } : {})),
    warnings,
  });
  if (template === undefined || !usesTemplate(conversation, templateUse)) return byAdapter([]);
  const byFlag = usesTemplate(conversation, { ...templateUse, listedTools: false });
  try {
    const rendered = await template({ ...options, conversation }, signal);
    if (!byFlag && !toolNames(conversation).every((name) => rendered.prompt.includes(name))) return byAdapter([]);
    const warnings = rendered.warnings.map((warning) => `The chat template says: ${warning}`);
    return { by: 'template', prompt: rendered.prompt, memory: options.memory ?? '', stop: options.stop, warnings };
  } catch (error) {
    signal?.throwIfAborted();
    if (!byFlag) return byAdapter([]);
    const reason = error instanceof Error ? error.message : String(error);
    return byAdapter([`The chat template failed, so the chat adapter is used instead: ${reason}`]);
  }
}

/** Whether the template is tried for this conversation. */
export function usesTemplate(conversation: Conversation, { chats, tools, listedTools }: TemplateUse): boolean {
  if (conversation.tools.length > 0 ? tools : chats) return true;
  return listedTools && toolNames(conversation).length > 0;
}

/** Of the tools that are offered and of those that were called. */
function toolNames({ tools, messages }: Conversation): readonly string[] {
  const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.toolCalls ?? []) : []));
  return [...tools, ...calls].map(({ name }) => name);
}

/** A model that sees earlier calls in this form tends to write one itself instead of answering. */
const callOpening = '[Made a function call';

/** A conversation as plain text between the tags of an adapter. */
export function* flatPrompt(
  { messages, media, tools }: Conversation,
  tags: ChatTags,
  options: FlatPromptOptions,
): Sliced<InstructText> {
  const continued = options.continueAssistantTurn && prefillOf(messages, media) !== undefined;
  // Ids are omitted unless needed: their digits distract small models.
  const withIds = messages.some((one) => one.role === 'assistant' && (one.toolCalls?.length ?? 0) > 1);
  const turns: string[] = [];
  for (const [index, message] of messages.entries()) {
    const [start, end] = tagsOf(message, tags);
    const open = continued && index === messages.length - 1;
    turns.push(start + turnText(message, media, withIds) + (open ? '' : end));
    yield;
  }
  return {
    prompt: tags.chatStart + turns.join('') + (continued ? '' : tags.assistantGen),
    memory: toolListing(tools, tags) + (options.memory ?? ''),
    stop: stopTexts(messages, tags, options),
  };
}

function tagsOf({ role }: Message, tags: ChatTags): readonly [start: string, end: string] {
  if (role === 'other') return ['', ''];
  const name = role === 'tool' ? 'tools' : role;
  return [tags[`${name}Start`], tags[`${name}End`]];
}

function turnText(message: Message, media: Conversation['media'], withIds: boolean): string {
  const content = flatContent(message.content, media);
  if (message.role === 'tool') {
    const which = withIds && message.callId ? ` ${message.callId}` : '';
    return `\n[Received results of function call${which}]\n${content}`;
  }
  if (message.role !== 'assistant') return content;
  const calls = (message.toolCalls ?? []).map(
    ({ id, name, json }) => `\n${callOpening}${withIds ? ` ${id}` : ''} to ${name} with arguments ${json}]\n`,
  );
  return content + calls.join('');
}

/** Names and types only: complete schemas would fill a small context. */
function toolListing(tools: readonly Tool[], tags: ChatTags): string {
  if (tools.length === 0) return '';
  const listing = tools.map(({ name, description, parameters }) => ({
    name,
    ...(description === undefined ? {} : { description }),
    parameters: propertyTypes(parameters),
  }));
  return `${tags.systemStart}Available Tools:\n${JSON.stringify(listing)}\n${tags.systemEnd}`;
}

export function propertyTypes({ properties }: Tool['parameters']): Readonly<Record<string, unknown>> {
  if (typeof properties !== 'object' || properties === null) return {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]: [string, { type?: unknown } | null]) => [
      name,
      schema?.type ?? 'any',
    ]),
  );
}

function stopTexts(messages: readonly Message[], tags: ChatTags, options: FlatPromptOptions): readonly string[] {
  const nextTurn = tags.userStart.trim();
  const answersTool = messages.at(-1)?.role === 'tool' && options.toolForced !== true;
  const added = [...(nextTurn === '' ? [] : [nextTurn]), ...(answersTool ? [callOpening] : [])];
  return [...new Set([...options.stop, ...added])];
}
