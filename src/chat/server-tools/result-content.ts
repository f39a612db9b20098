import type { Medium } from '../../core/request.ts';
import type { TextModel } from '../../core/text-service.ts';
import type { ServedResult } from '../../core/tool-servers.ts';
import { type Content, text } from '../messages.ts';

interface ResultLimits {
  /** The media that the model accepts. */
  readonly inputs: TextModel['inputs'];
  readonly characters: number;
  /** The number of media in the conversation so far. */
  readonly media: number;
}

/** Of one result: each takes hundreds of tokens. */
const maxMedia = 8;

/** The result of a tool for the model: text, and the media that it accepts. */
export function resultContent(
  result: ServedResult,
  limits: ResultLimits,
): { readonly content: Content; readonly media: readonly Medium[] } {
  const media: Medium[] = [];
  const lines = itemsOf(result).map((item) => {
    const medium = mediumOf(item);
    if (!medium) return itemText(item);
    if (!limits.inputs[medium.kind]) return `(${medium.kind}: this model cannot take it in)`;
    if (media.length >= maxMedia) return `(${medium.kind}: left out, after ${maxMedia} of them)`;
    media.push(medium);
    return `(the ${medium.kind} is attached)`;
  });
  const output = lines.join('\n') || '(the tool gave nothing)';
  const outcome = result.isError === true ? `The tool failed: ${output}` : output;
  const references = media.map((_, index) => ({ type: 'medium' as const, index: limits.media + index }));
  return { content: [...text(shortened(outcome, limits.characters)), ...references], media };
}

/** The beginning, and how much is missing, so that the model can request less. */
export function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text;
  const beginning = text.slice(0, characters).replace(/[\ud800-\udbff]$/, '');
  return `${beginning}\n(cut off: these are the first ${beginning.length} of ${text.length} characters)`;
}

type Item = Readonly<Record<string, unknown>>;

function itemsOf({ content, structuredContent }: ServedResult): readonly Item[] {
  const items = Array.isArray(content) ? content.filter((item): item is Item => typeof item === 'object' && item) : [];
  if (items.length > 0 || structuredContent === undefined) return items;
  return [{ type: 'text', text: JSON.stringify(structuredContent) }];
}

function mediumOf({ type, data, mimeType }: Item): Medium | undefined {
  if ((type !== 'image' && type !== 'audio') || typeof data !== 'string') return undefined;
  return { kind: type, base64: data, ...(typeof mimeType === 'string' ? { format: mimeType } : {}) };
}

function itemText(item: Item): string {
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
  if (typeof item.text === 'string') return item.text;
  if (item.type === 'resource_link') return [item.name, item.uri, item.description].filter(isText).join(' – ');
  const resource = item.resource as Item | undefined;
  if (item.type === 'resource' && typeof resource === 'object' && resource !== null) {
    return isText(resource.text) ? resource.text : `(the file ${String(resource.uri)}: no text)`;
  }
  return JSON.stringify(item);
}
