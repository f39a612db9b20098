import { createHash } from 'node:crypto';
import type { Medium } from '../../../../core/request.ts';
import type { MarkedTokens } from '../text/prompt.ts';

export interface PromptTexts {
  readonly prompt: string;
  readonly memory: string;
}

export type PromptPart = string | ReadMedium;

const words: Readonly<Record<Medium['kind'], string>> = { image: 'Image', audio: 'Audio' };
const placeholders = /\(Attached (?:Image|Audio) \d+\)/;

/** Pictures and sounds are counted apart; each has a text that says where in the prompt it belongs. */
function placeholder(media: readonly Pick<Medium, 'kind'>[], index: number): string {
  const kind = (media[index] as Medium).kind;
  const number = media.slice(0, index + 1).filter((medium) => medium.kind === kind).length;
  return `(Attached ${words[kind]} ${number})`;
}

/** Media that no text speaks of go in front of everything, announced by a line: none is ever left out. */
export function mentionAll(texts: PromptTexts, media: readonly Pick<Medium, 'kind'>[]): PromptTexts {
  const mentioned = new Set([...mentions(texts.memory, media), ...mentions(texts.prompt, media)]);
  const missing = media.flatMap((_, index) => (mentioned.has(index) ? [] : [placeholder(media, index)]));
  if (missing.length === 0) return texts;
  return { ...texts, memory: ['Attached Media:\n', ...missing, texts.memory].join('') };
}

/** Cuts both texts at the placeholders. Only the first mention of a medium becomes the medium; the others are words. */
export function placeMedia(
  texts: PromptTexts,
  media: readonly ReadMedium[],
): { readonly memory: readonly PromptPart[]; readonly prompt: readonly PromptPart[] } {
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
  // Two line breaks set off each medium from the text behind it. This is also what a reply can go on from: the last
  // place of a prompt must be a token.
  return parts.map((part, index) => (typeof part === 'string' && index > 0 ? afterMedium(part) : part));
}

function afterMedium(text: string): string {
  return `\n\n${text.replace(/^\n{1,2}/, '')}`;
}

/** The text and the placeholders in it, in turn. */
function pieces(text: string): string[] {
  return text.split(new RegExp(`(${placeholders.source})`)).filter((piece) => piece !== '');
}

function mentions(text: string, media: readonly Pick<Medium, 'kind'>[]): number[] {
  return pieces(text).flatMap((piece) => mediumOf(piece, media) ?? []);
}

/** A number beyond those of its kind is a place in the list of all pictures and then all sounds. */
function mediumOf(piece: string, media: readonly Pick<Medium, 'kind'>[]): number | undefined {
  const match = /^\(Attached (Image|Audio) (\d+)\)$/.exec(piece);
  if (!match) return undefined;
  const indices = (kind: Medium['kind']) => media.flatMap((medium, index) => (medium.kind === kind ? [index] : []));
  const place = Number(match[2]) - 1;
  return indices(match[1] === 'Image' ? 'image' : 'audio')[place] ?? [...indices('image'), ...indices('audio')][place];
}

/** One list of tokens, with the places where it must not be cut. */
export async function markTokens(
  parts: readonly PromptPart[],
  tokenize: (text: string) => Promise<Int32Array>,
): Promise<MarkedTokens> {
  const lists: Int32Array[] = [];
  for (const part of parts) lists.push(typeof part === 'string' ? await tokenize(part) : mediumTokens(part));
  const tokens = new Int32Array(lists.reduce((sum, { length }) => sum + length, 0));
  const media: { start: number; end: number }[] = [];
  let at = 0;
  for (const [index, list] of lists.entries()) {
    tokens.set(list, at);
    if (typeof parts[index] !== 'string') media.push({ start: at, end: at + list.length });
    at += list.length;
  }
  return { tokens, media };
}

/**
 * A stretch of a prompt that is not made of tokens: a picture, a tile of one, or a piece of sound. In the list of tokens
 * its places are held by negative ids that come from its content: two prompts share a picture when they share these ids,
 * also in another process, and nothing else needs to know what they stand for.
 */
export interface MediumChunk {
  /** One for each place that it takes in the cache. */
  readonly ids: Int32Array;
  /** How far the positions go on after it. Models that count rows and columns need fewer of them than places. */
  readonly positions: number;
  /** What the library wants to know of it besides the embeddings. */
  readonly description: Uint8Array;
  readonly embeddings: Float32Array;
}

/** A picture or sound that was read: what goes into the prompt for it, marks of the model included. */
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

/** 31 bits of a hash for each place: what differs at all differs in nearly every one of them. −1 says nothing. */
export function mediumIds(content: string, length: number): Int32Array {
  const bytes = createHash('shake256', { outputLength: length * 4 })
    .update(content)
    .digest();
  return Int32Array.from({ length }, (_, index) => Math.min(-2, bytes.readInt32LE(index * 4) | (1 << 31)));
}

export function mediumTokens({ parts }: ReadMedium): Int32Array {
  return Int32Array.from(parts.flatMap((part) => [...(isChunk(part) ? part.ids : part)]));
}

/** Where in these tokens the media are that were put into them. */
export function findSpans(tokens: Int32Array, media: readonly ReadMedium[]): MediumSpan[] {
  const chunks = media.flatMap(({ parts }) => parts.filter(isChunk));
  const spans: MediumSpan[] = [];
  for (let index = 0; chunks.length > 0 && index < tokens.length; index += 1) {
    if ((tokens[index] as number) >= 0) continue;
    const chunk = chunks.find(({ ids }) => ids.every((id, place) => id === tokens[index + place]));
    if (!chunk) continue;
    spans.push({ start: index, chunk });
    index += chunk.ids.length - 1;
  }
  return spans;
}
