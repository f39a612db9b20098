import type { Medium } from '../core/request.ts';
import { type Content, type ContentPart, text } from './messages.ts';

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
