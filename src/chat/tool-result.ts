import type { Medium } from '../core/request.ts';
import type { ContentPart } from './messages.ts';

/**
 * The result of a tool server carries pictures as base64 inside its JSON. They are moved to the media list, because a
 * model that reads the base64 as text sees nothing and loses its context.
 */
export function readToolResult(
  result: string,
  firstIndex: number,
): { readonly content: readonly ContentPart[]; readonly media: readonly Medium[] } {
  const asText = { content: result === '' ? [] : [{ type: 'text', text: result } as const], media: [] };
  if (!result.trimStart().startsWith('{')) return asText;
  const items = resultItems(result);
  if (items === undefined || !items.some(isImage)) return asText;
  const media = items.filter(isImage).map(({ data, mimeType }): Medium => {
    const format = typeof mimeType === 'string' ? { format: mimeType } : {};
    return { kind: 'image', base64: data, ...format };
  });
  const noted = items.map((item) => (isImage(item) ? { type: 'text', text: '(the image is attached)' } : item));
  const parts = media.map((_, index): ContentPart => ({ type: 'medium', index: firstIndex + index }));
  return { content: [{ type: 'text', text: JSON.stringify({ content: noted }) }, ...parts], media };
}

function resultItems(result: string): readonly unknown[] | undefined {
  try {
    const { content } = JSON.parse(result) as { content?: unknown };
    return Array.isArray(content) ? content : undefined;
  } catch {
    return undefined;
  }
}

function isImage(item: unknown): item is { type: 'image'; data: string; mimeType?: unknown } {
  if (typeof item !== 'object' || item === null) return false;
  const { type, data } = item as Record<string, unknown>;
  return type === 'image' && typeof data === 'string';
}
