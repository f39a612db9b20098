import { type Content, type ContentPart, type Conversation, type Message, wordsOf } from '../../chat/messages.ts';
import type { Medium } from '../../core/request.ts';
import type { Body } from './controls-body.ts';

/** The messages of a conversation as the OpenAI API has them. */
export function messagesBody({ messages, media }: Pick<Conversation, 'messages' | 'media'>): readonly Body[] {
  return messages.map((message) => messageBody(message, media));
}

function messageBody(message: Message, media: readonly Medium[]): Body {
  const content = contentBody(message.content, media);
  switch (message.role) {
    case 'assistant': {
      const calls = (message.toolCalls ?? []).map(({ id, name, json }) => ({
        id,
        type: 'function',
        function: { name, arguments: json },
      }));
      return {
        role: 'assistant',
        content: calls.length > 0 && content === '' ? null : content,
        ...(message.reasoning ? { reasoning_content: message.reasoning } : {}),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      };
    }
    case 'tool':
      return {
        role: 'tool',
        content,
        tool_call_id: message.callId ?? '',
        ...(message.toolName ? { name: message.toolName } : {}),
      };
    case 'other':
      return { role: message.roleName, content };
    default:
      return { role: message.role, content };
  }
}

/** Words alone are a text: some templates know nothing else. */
function contentBody(content: Content, media: readonly Medium[]): string | readonly Body[] {
  if (content.every(({ type }) => type === 'text')) return wordsOf(content);
  return content.map((part) => partBody(part, media));
}

function partBody(part: ContentPart, media: readonly Medium[]): Body {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const medium = media[part.index];
  if (!medium) return { type: 'text', text: '' };
  const { kind, base64, format } = medium;
  if (kind === 'audio') return { type: 'input_audio', input_audio: { data: base64, format: soundFormat(format) } };
  return { type: 'image_url', image_url: { url: `data:${pictureType(format, base64)};base64,${base64}` } };
}

const pictureSigns: Readonly<Record<string, string>> = {
  iVBORw: 'image/png',
  '/9j/': 'image/jpeg',
  R0lGOD: 'image/gif',
  UklGR: 'image/webp',
};

/** As the client said it, or as its first bytes say. */
function pictureType(format: string | undefined, base64: string): string {
  if (format?.startsWith('image/')) return format;
  const sign = Object.keys(pictureSigns).find((start) => base64.startsWith(start));
  return (sign && pictureSigns[sign]) ?? (format ? `image/${format}` : 'image/png');
}

function soundFormat(format: string | undefined): string {
  const name = format?.split('/').at(-1)?.replace(/^x-/, '') ?? 'wav';
  return name === 'mpeg' ? 'mp3' : name;
}
