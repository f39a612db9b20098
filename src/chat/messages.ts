import type { Medium } from '../core/request.ts';

/** A conversation in words that no protocol owns. Decoders make it; prompts are made from it. */
export interface Conversation {
  readonly messages: readonly Message[];
  /** Every picture and sound of the conversation; the parts of the messages point into this list. */
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
  | { readonly role: 'tool'; readonly content: Content; readonly callId?: string; readonly toolName?: string }
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

const mediumWords: Readonly<Record<Medium['kind'], string>> = { image: 'Image', audio: 'Audio' };

/**
 * The words that stand for a picture or a sound until the engine puts its tokens there. Pictures and sounds are counted
 * apart, so that a mixture of both stays unambiguous.
 */
export function mediumPlaceholder(media: readonly Medium[], index: number): string {
  const medium = media[index];
  if (medium === undefined) return '';
  const number = media.slice(0, index + 1).filter(({ kind }) => kind === medium.kind).length;
  return `\n(Attached ${mediumWords[medium.kind]} ${number})\n`;
}

export function flatContent(content: Content, media: readonly Medium[]): string {
  return content.map((part) => (part.type === 'text' ? part.text : mediumPlaceholder(media, part.index))).join('');
}

/** The words alone, where a picture or a sound is shown elsewhere already. */
export function wordsOf(content: Content): string {
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** Several contents as one, the separator between texts; what stands for a medium has lines of its own. */
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

/** The conversation with other messages: media that none of them shows are left out, as they would still be seen. */
export function withMessages(conversation: Conversation, messages: readonly Message[]): Conversation {
  const shown = new Set(messages.flatMap(({ content }) => content.flatMap(mediumIndex)));
  const kept = conversation.media.flatMap((medium, index) => (shown.has(index) ? [{ medium, index }] : []));
  if (kept.length === conversation.media.length) return { ...conversation, messages };
  const places = new Map(kept.map(({ index }, place) => [index, place]));
  const moved = (part: ContentPart): ContentPart =>
    part.type === 'text' ? part : { ...part, index: places.get(part.index) ?? part.index };
  return {
    ...conversation,
    messages: messages.map((message) => ({ ...message, content: message.content.map(moved) })),
    media: kept.map(({ medium }) => medium),
  };
}

function mediumIndex(part: ContentPart): readonly number[] {
  return part.type === 'medium' ? [part.index] : [];
}

/** What the reply is to continue: the text of a last turn that is already the assistant's. */
export function prefillOf(messages: readonly Message[], media: readonly Medium[]): string | undefined {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || (last.toolCalls?.length ?? 0) > 0) return undefined;
  return flatContent(last.content, media);
}

/** Takes a medium in and gives the part that stands for it; `format` is what the tool says it is. */
export type Attach = (kind: Medium['kind'], data: string, format: string | undefined) => ContentPart;

/**
 * The result of a tool server carries pictures and sounds as base64 inside its JSON. They are moved to the media, because
 * a model that reads the base64 as text sees nothing and loses its context.
 */
export function readToolResult(result: string, attach: Attach): Content {
  const items = result.trimStart().startsWith('{') ? resultItems(result) : [];
  if (!items.some(isMedium)) return text(result);
  const parts: ContentPart[] = [];
  const noted = items.map((item) => {
    if (!isMedium(item)) return item;
    parts.push(attach(item.type, item.data, typeof item.mimeType === 'string' ? item.mimeType : undefined));
    return { type: 'text', text: `(the ${item.type} is attached)` };
  });
  return [...text(JSON.stringify({ content: noted })), ...parts];
}

function resultItems(result: string): readonly unknown[] {
  try {
    const { content } = JSON.parse(result) as { content?: unknown };
    return Array.isArray(content) ? content : [];
  } catch {
    return [];
  }
}

function isMedium(item: unknown): item is { type: Medium['kind']; data: string; mimeType?: unknown } {
  if (typeof item !== 'object' || item === null) return false;
  const { type, data } = item as Record<string, unknown>;
  return (type === 'image' || type === 'audio') && typeof data === 'string';
}
