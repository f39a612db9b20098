import { isObject, tryParseJson } from '../core/json.ts';
import type { Medium } from '../core/request.ts';

/** A neutral conversation: decoders create it, prompts are rendered from it. */
export interface Conversation {
  readonly messages: readonly Message[];
  /** All images and recordings; the parts of the messages refer to them by index. */
  readonly media: readonly Medium[];
  readonly tools: readonly Tool[];
}

export type Message =
  | { readonly role: 'system' | 'user'; readonly content: Content }
  | {
      readonly role: 'assistant';
      readonly content: Content;
      /** The thinking of that turn, for templates that show it to the model again. */
      readonly reasoning?: string;
      readonly toolCalls?: readonly ToolCallRecord[];
    }
  | {
      readonly role: 'tool';
      readonly content: Content;
      readonly callId?: string;
      readonly toolName?: string | undefined;
    }
  /** A role that only some templates know. */
  | { readonly role: 'other'; readonly roleName: string; readonly content: Content };

export type Content = readonly ContentPart[];

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'medium'; readonly index: number };

/** A call that the model made earlier. */
export interface ToolCallRecord {
  readonly id: string;
  readonly name: string;
  /** JSON text, as the model wrote it and as clients send it back. */
  readonly json: string;
}

export interface Tool {
  readonly name: string;
  readonly description?: string;
  /** A JSON schema of an object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export function text(value: string): Content {
  return value === '' ? [] : [{ type: 'text', text: value }];
}

const mediumLabels: Readonly<Record<Medium['kind'], string>> = { image: 'Image', audio: 'Audio' };

/** The text that the engine replaces by the tokens of a medium. Images and recordings are numbered separately. */
export function mediumPlaceholder(media: readonly Medium[], index: number): string {
  const medium = media[index];
  if (medium === undefined) return '';
  const number = media.slice(0, index + 1).filter(({ kind }) => kind === medium.kind).length;
  return `\n(Attached ${mediumLabels[medium.kind]} ${number})\n`;
}

export function flatContent(content: Content, media: readonly Medium[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : mediumPlaceholder(media, part.index))).join('');
}

/** The text without media. */
export function plainText(content: Content): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Joins contents, with the separator between texts; placeholders of media already have their own lines. */
export function joinContent(contents: readonly Content[], separator: string): Content {
  const joined: ContentPart[] = [];
  let texts: string[] = [];
  const endText = (): void => {
    if (texts.length > 0) joined.push({ type: 'text', text: texts.join('') });
    texts = [];
  };
  for (const content of contents) {
    for (const [index, part] of content.entries()) {
      if (part.type !== 'text') {
        endText();
        joined.push(part);
      } else if (texts.length > 0 && index === 0) texts.push(separator, part.text);
      else texts.push(part.text);
    }
  }
  endText();
  return joined;
}

/** A turn of the assistant in the pieces in which a client sent it. */
export interface TurnPieces {
  readonly reasoning: string[];
  readonly contents: Content[];
  readonly calls: ToolCallRecord[];
}

export function assistantMessage({ reasoning, contents, calls }: TurnPieces, separator: string): Message {
  const thought = reasoning.filter((part) => part !== '').join(separator);
  return {
    role: 'assistant',
    content: joinContent(contents, separator),
    ...(thought !== '' && { reasoning: thought }),
    ...(calls.length > 0 && { toolCalls: calls }),
  };
}

/** The conversation with these messages instead, without the media that they do not refer to. */
export function withMessages(conversation: Conversation, messages: readonly Message[]): Conversation {
  const parts = messages.flatMap(({ content }) => content);
  const used = new Set(parts.flatMap((part) => (part.type === 'medium' ? [part.index] : [])));
  const remaining = conversation.media.flatMap((medium, index) => (used.has(index) ? [{ medium, index }] : []));
  if (remaining.length === conversation.media.length) return { ...conversation, messages };
  const indices = new Map(remaining.map(({ index }, newIndex) => [index, newIndex]));
  const renumbered = (part: ContentPart): ContentPart =>
    part.type === 'text' ? part : { ...part, index: indices.get(part.index) ?? part.index };
  return {
    ...conversation,
    messages: messages.map((message) => ({ ...message, content: message.content.map(renumbered) })),
    media: remaining.map(({ medium }) => medium),
  };
}

/** The text of a last assistant turn, which the reply continues. */
export function prefillOf(messages: readonly Message[], media: readonly Medium[]): string | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || (last.toolCalls?.length ?? 0) > 0) return undefined;
  return flatContent(last.content, media);
}

/** Stores a medium and returns the part that refers to it; `format` is the media type that the tool declares. */
export type Attach = (kind: Medium['kind'], data: string, format: string | undefined) => ContentPart;

/** Moves the base64 images and recordings of a tool result to the media: as text they would only fill the context. */
export function readToolResult(result: string, attach: Attach): Content {
  const parsed = result.trimStart().startsWith('{') ? tryParseJson(result) : undefined;
  const items: readonly unknown[] = isObject(parsed) && Array.isArray(parsed.content) ? parsed.content : [];
  if (!items.some(isMedium)) return text(result);
  const parts: ContentPart[] = [];
  const replaced = items.map((item) => {
    if (!isMedium(item)) return item;
    parts.push(attach(item.type, item.data, typeof item.mimeType === 'string' ? item.mimeType : undefined));
    return { type: 'text', text: `(the ${item.type} is attached)` };
  });
  return [...text(JSON.stringify({ content: replaced })), ...parts];
}

function isMedium(item: unknown): item is { type: Medium['kind']; data: string; mimeType?: unknown } {
  return isObject(item) && (item.type === 'image' || item.type === 'audio') && typeof item.data === 'string';
}

/** The number of system messages at the beginning. */
export function leadingSystem(messages: readonly Message[]): number {
  const first = messages.findIndex(({ role }) => role !== 'system');
  return first === -1 ? messages.length : first;
}

/** The conversation with this system prompt, unless it has one. */
export function withSystem(conversation: Conversation, prompt: string): Conversation {
  const { messages } = conversation;
  if (prompt === '' || messages.some(({ role }) => role === 'system')) return conversation;
  return { ...conversation, messages: [{ role: 'system', content: text(prompt) }, ...messages] };
}
