import type { Medium } from '../../core/request.ts';
import type { ServedResult } from '../../core/tool-servers.ts';
import { type Content, text } from '../messages.ts';

export interface ResultLimits {
  /** How much of the text the model is shown. */
  readonly characters: number;
  /** What the model takes in beside text. */
  readonly senses: { readonly image: boolean; readonly audio: boolean };
  /** How many media the conversation has already. */
  readonly media: number;
}

export interface ResultContent {
  readonly content: Content;
  readonly media: readonly Medium[];
}

/** Of one result: each takes hundreds of tokens. */
const mostMedia = 8;

/** What a tool gave, as the model is shown it: words, and pictures and sounds where it has the sense for them. */
export function resultContent(result: ServedResult, limits: ResultLimits): ResultContent {
  const media: Medium[] = [];
  const words = itemsOf(result).map((item) => {
    const medium = mediumOf(item);
    if (!medium) return wordsOf(item);
    if (!limits.senses[medium.kind]) return `(${medium.kind}: this model cannot take it in)`;
    if (media.length >= mostMedia) return `(${medium.kind}: left out, after ${mostMedia} of them)`;
    media.push(medium);
    return `(the ${medium.kind} is attached)`;
  });
  const said = words.join('\n') || '(the tool gave nothing)';
  const told = result.isError === true ? `The tool failed: ${said}` : said;
  const places = media.map((_, index) => ({ type: 'medium' as const, index: limits.media + index }));
  return { content: [...text(shortened(told, limits.characters)), ...places], media };
}

/** The beginning, and how much is missing: a model that knows it can ask for less. */
export function shortened(words: string, characters: number): string {
  if (words.length <= characters) return words;
  const kept = words.slice(0, characters).replace(/[\ud800-\udbff]$/, '');
  return `${kept}\n(cut off: these are the first ${kept.length} of ${words.length} characters)`;
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

function wordsOf(item: Item): string {
  if (typeof item.text === 'string') return item.text;
  if (item.type === 'resource_link') return [item.name, item.uri, item.description].filter(isWords).join(' – ');
  const resource = item.resource as Item | undefined;
  if (item.type === 'resource' && typeof resource === 'object' && resource !== null) {
    return isWords(resource.text) ? resource.text : `(the file ${String(resource.uri)}: no text)`;
  }
  return JSON.stringify(item);
}

function isWords(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
