import type { Medium } from '../core/request.ts';
import { type Content, type Message, plainText, type Tool } from './messages.ts';
import type { ChatRequest, OutputFormat } from './request.ts';

/** A body to be written; fields that are undefined are left out of its JSON. */
export type WireBody = Record<string, unknown>;

/** The messages of a chat, as `POST /v1/chat/completions` has them. */
export function encodeMessages(messages: readonly Message[], media: readonly Medium[]): readonly WireBody[] {
  return messages.map((message) => encodeMessage(message, encodeContent(message.content, media)));
}

function encodeMessage(message: Message, content: unknown): WireBody {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content };
    case 'assistant': {
      const { reasoning, toolCalls = [] } = message;
      const calls = toolCalls.map(({ id, name, json }) => ({
        id,
        type: 'function',
        function: { name, arguments: json },
      }));
      return {
        role: 'assistant',
        content: calls.length > 0 && content === '' ? null : content,
        ...(reasoning && { reasoning_content: reasoning }),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
    }
    case 'tool': {
      const { callId = '', toolName } = message;
      return { role: 'tool', content, tool_call_id: callId, ...(toolName && { name: toolName }) };
    }
    case 'other':
      return { role: message.roleName, content };
  }
}

/** Text without media is sent as a string, because some templates accept nothing else. */
function encodeContent(content: Content, media: readonly Medium[]): string | readonly WireBody[] {
  if (content.every(({ type }) => type === 'text')) return plainText(content);
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const medium = media[part.index];
    if (!medium) return { type: 'text', text: '' };
    if (medium.kind === 'image') return { type: 'image_url', image_url: { url: dataUrl(medium) } };
    return { type: 'input_audio', input_audio: { data: medium.base64, format: audioFormat(medium) } };
  });
}

export function encodeTools(tools: readonly Tool[]): readonly WireBody[] {
  return tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, ...(description && { description }), parameters },
  }));
}

export function encodeToolChoice({ toolChoice }: ChatRequest): unknown {
  return toolChoice.type === 'named' ? { type: 'function', function: { name: toolChoice.name } } : toolChoice.type;
}

/** The field `response_format`. */
export function encodeOutput(output: OutputFormat): WireBody {
  if (output.type === 'text') return {};
  if (output.type === 'json') return { response_format: { type: 'json_object' } };
  const schema = { name: 'reply', schema: output.schema, strict: true };
  return { response_format: { type: 'json_schema', json_schema: schema } };
}

/** The media type that the client gave, otherwise that of the first bytes. */
export function mediaType({ kind, base64, format }: Medium): string {
  if (format?.startsWith(`${kind}/`)) return format;
  const known = beginnings.find(([start, type]) => base64.startsWith(start) && type.startsWith(kind));
  if (known) return known[1];
  if (format === undefined) return kind === 'image' ? 'image/png' : 'audio/wav';
  return format.includes('/') ? format : `${kind}/${format}`;
}

const beginnings: readonly (readonly [beginning: string, type: string])[] = [
  ['iVBORw', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['SUQz', 'audio/mpeg'],
  ['ZkxhQ', 'audio/flac'],
];

export function dataUrl(medium: Medium): string {
  return `data:${mediaType(medium)};base64,${medium.base64}`;
}

/** The format of `input_audio`: `mp3` for `audio/mpeg`. */
export function audioFormat({ format }: Medium): string {
  const name = format?.split('/').at(-1)?.replace(/^x-/, '') ?? 'wav';
  return name === 'mpeg' ? 'mp3' : name;
}

/** `images` and `audio` of the native API, in which media are sorted by kind. */
export function nativeMediaFields(media: readonly Medium[]): WireBody {
  const of = (kind: Medium['kind']) => media.filter((medium) => medium.kind === kind).map(({ base64 }) => base64);
  const [images, audio] = [of('image'), of('audio')];
  return { ...(images.length > 0 && { images }), ...(audio.length > 0 && { audio }) };
}
