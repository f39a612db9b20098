import { createHash } from 'node:crypto';
import type { Medium } from '../../../../core/request.ts';
import { joinTokens } from '../text/prompt.ts';

export type PromptTexts = Readonly<Record<'prompt' | 'memory', string>>;

type PromptPart = string | ReadMedium;

const labels: Readonly<Record<Medium['kind'], string>> = { image: 'Image', audio: 'Audio' };
const placeholders = /\(Attached (?:Image|Audio) \d+\)/;

/** The text that marks a medium in the prompt; images and audio are counted separately. */
function placeholder(media: readonly Pick<Medium, 'kind'>[], index: number): string {
  const kind = (media[index] as Medium).kind;
  const number = media.slice(0, index + 1).filter((medium) => medium.kind === kind).length;
  return `(Attached ${labels[kind]} ${number})`;
}

/** Media without a placeholder in the texts go to the front, after a line that announces them. */
export function mentionAll(texts: PromptTexts, media: readonly Pick<Medium, 'kind'>[]): PromptTexts {
  const mentioned = new Set([...mentions(texts.memory, media), ...mentions(texts.prompt, media)]);
  const missing = media.flatMap((_, index) => (mentioned.has(index) ? [] : [placeholder(media, index)]));
  if (missing.length === 0) return texts;
  return { ...texts, memory: ['Attached Media:\n', ...missing, texts.memory].join('') };
}

/** Splits both texts at the placeholders. Only the first placeholder of a medium becomes the medium; others stay text. */
export function placeMedia(texts: PromptTexts, media: readonly ReadMedium[]) {
  const placed = new Set<number>();
  return { memory: cut(texts.memory, media, placed), prompt: cut(texts.prompt, media, placed) };
}

function cut(text: string, media: readonly ReadMedium[], placed: Set<number>): PromptPart[] {
  const parts: PromptPart[] = [''];
  for (const piece of pieces(text)) {
    const index = mediumOf(piece, media);
    const medium = index === undefined || placed.has(index) ? undefined : media[index];
    if (medium !== undefined && index !== undefined) {
      placed.add(index);
      parts.push(medium, '');
    } else {
      parts.push(`${parts.pop()}${piece}`);
    }
  }
  // Two line breaks after each medium: the last position of a prompt must be a token.
  return parts.map((part, index) => {
    return typeof part === 'string' && index > 0 ? `\n\n${part.replace(/^\n{1,2}/, '')}` : part;
  });
}

function pieces(text: string): string[] {
  return text.split(new RegExp(`(${placeholders.source})`)).filter((piece) => piece !== '');
}

function mentions(text: string, media: readonly Pick<Medium, 'kind'>[]): number[] {
  return pieces(text).flatMap((piece) => mediumOf(piece, media) ?? []);
}

/** A number beyond those of its kind is an index into all images and then all audio. */
function mediumOf(piece: string, media: readonly Pick<Medium, 'kind'>[]): number | undefined {
  const match = /^\(Attached (Image|Audio) (\d+)\)$/.exec(piece);
  if (!match) return undefined;
  const indices = (kind: Medium['kind']) => media.flatMap((medium, index) => (medium.kind === kind ? [index] : []));
  const number = Number(match[2]) - 1;
  return (
    indices(match[1] === 'Image' ? 'image' : 'audio')[number] ?? [...indices('image'), ...indices('audio')][number]
  );
}

/** One list of tokens, with the spans that must not be cut. */
export async function markTokens(parts: readonly PromptPart[], tokenize: (text: string) => Promise<Int32Array>) {
  const lists: Int32Array[] = [];
  const media: { start: number; end: number }[] = [];
  let at = 0;
  for (const part of parts) {
    const list = typeof part === 'string' ? await tokenize(part) : mediumTokens(part);
    lists.push(list);
    if (typeof part !== 'string') media.push({ start: at, end: at + list.length });
    at += list.length;
  }
  return { tokens: joinTokens(lists), media };
}

/**
 * A part of a prompt that is not tokens: an image, a tile of one, or a piece of audio. In the list of tokens it is represented by
 * negative ids that are a hash of its content, so that prompts share an image if they share these ids, even in another process.
 */
export interface MediumChunk {
  /** One per cell of the cache. */
  readonly ids: Int32Array;
  /** By how much the position advances; fewer than cells for models that count rows and columns. */
  readonly positions: number;
  /** The library's serialized chunk, without the embeddings. */
  readonly description: Uint8Array;
  readonly embeddings: Float32Array;
}

/** An encoded image or audio file: its chunks and the model's marks around them. */
export interface ReadMedium {
  readonly kind: Medium['kind'];
  readonly parts: readonly (Int32Array | MediumChunk)[];
}

export interface MediumSpan {
  readonly start: number;
  readonly chunk: MediumChunk;
}

export function isChunk(part: Int32Array | MediumChunk): part is MediumChunk {
  return !(part instanceof Int32Array);
}

/** 31 bits of a hash per cell; −1 is not used. */
export function mediumIds(content: string, length: number): Int32Array {
  const bytes = createHash('shake256', { outputLength: length * 4 })
    .update(content)
    .digest();
  return Int32Array.from({ length }, (_, index) => Math.min(-2, bytes.readInt32LE(index * 4) | (1 << 31)));
}

export function mediumTokens({ parts }: ReadMedium): Int32Array {
  return Int32Array.from(parts.flatMap((part) => [...(isChunk(part) ? part.ids : part)]));
}

/** The spans of the media in these tokens. */
export function findSpans(tokens: Int32Array, media: readonly ReadMedium[]): MediumSpan[] {
  const chunks = media.flatMap(({ parts }) => parts.filter(isChunk));
  const spans: MediumSpan[] = [];
  for (let index = 0; chunks.length > 0 && index < tokens.length; index += 1) {
    if ((tokens[index] as number) >= 0) continue;
    const chunk = chunks.find(({ ids }) => ids.every((id, offset) => id === tokens[index + offset]));
    if (!chunk) continue;
    spans.push({ start: index, chunk });
    index += chunk.ids.length - 1;
  }
  return spans;
}
