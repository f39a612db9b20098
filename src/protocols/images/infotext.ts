import type { ImageFacts, ImageRequest } from '../../core/image.ts';
import { tryParseJson } from '../../core/json.ts';
import type { ImageResult } from './request.ts';
import { samplerDisplay } from './sampler-names.ts';

export interface InfotextOptions {
  readonly request: ImageRequest;
  readonly drawn: Pick<ImageResult, 'pictures' | 'width' | 'height' | 'steps' | 'sampler' | 'scheduler' | 'notes'>;
  readonly facts: ImageFacts;
  readonly product: { readonly name: string; readonly version: string };
}

/** A fixed value if the hash is unknown: clients compare it. */
export function modelHash({ sha256 }: Pick<ImageFacts, 'sha256'>): string {
  return sha256?.slice(0, 10) ?? '8888888888';
}

/** The `parameters` text of an image. Some programs read the last line by position: its first seven values always exist. */
export function imageInfotext({ request, drawn, facts, product }: InfotextOptions, seed: number): string {
  const { prompt, negativePrompt, guidance } = request;
  const entries: Infotext['entries'] = [
    ['Steps', drawn.steps],
    ['Sampler', samplerDisplay(drawn.sampler)],
    ['Schedule type', chosenScheduler(drawn, facts)],
    ['CFG scale', guidance],
    ['Seed', seed],
    ['Size', `${drawn.width}x${drawn.height}`],
    ['Model hash', modelHash(facts)],
    ['Model', facts.name],
    ['Denoising strength', request.initial ? request.strength : undefined],
    ['Clip skip', request.clipSkip > 1 ? request.clipSkip : undefined],
    ['Version', `${product.name} ${product.version}`],
  ];
  return infotext({ prompt, negativePrompt, entries });
}

/** Undefined for the default scheduler of the model. */
export function chosenScheduler(
  { scheduler }: Pick<ImageResult, 'scheduler'>,
  { schedulers }: Pick<ImageFacts, 'schedulers'>,
): string | undefined {
  return scheduler === '' || scheduler === schedulers[0] ? undefined : scheduler;
}

interface Infotext {
  readonly prompt: string;
  readonly negativePrompt: string;
  /** In this order; undefined values are left out. */
  readonly entries: readonly (readonly [key: string, value: string | number | undefined])[];
}

/** The text that image programs write into their images and read again. */
export function infotext({ prompt, negativePrompt, entries }: Infotext): string {
  const pairs = entries.flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${quoted(String(value))}`]));
  const negative = negativePrompt === '' ? [] : [`${negativeMark} ${negativePrompt}`];
  return [prompt, ...negative, pairs.join(', ')].join('\n');
}

function quoted(value: string): string {
  return /[,:\n]/.test(value) ? JSON.stringify(value) : value;
}

/** The prompts, and the pairs of the last line; a size becomes two numbers. */
export function parseInfotext(text: string): Readonly<Record<string, string>> {
  const lines = text.trim().split('\n');
  const pairs = pairsOf(lines.at(-1) ?? '');
  const promptLines = pairs.length >= 3 ? lines.slice(0, -1) : lines;
  const negativeAt = promptLines.findIndex((line) => line.startsWith(negativeMark));
  const prompt = negativeAt < 0 ? promptLines : promptLines.slice(0, negativeAt);
  const negative = negativeAt < 0 ? [] : promptLines.slice(negativeAt);
  return Object.fromEntries([
    ['Prompt', prompt.join('\n').trim()],
    ['Negative prompt', negative.join('\n').slice(negativeMark.length).trim()],
    ...(pairs.length >= 3 ? pairs.flatMap(spread) : []),
  ]);
}

const negativeMark = 'Negative prompt:';

function spread([key, value]: readonly [string, string]): readonly (readonly [string, string])[] {
  const size = /^(\d{1,9})x(\d{1,9})$/.exec(value);
  if (!size) return [[key, value]];
  return [
    [`${key}-1`, size[1] ?? ''],
    [`${key}-2`, size[2] ?? ''],
  ];
}

function pairsOf(line: string): readonly (readonly [string, string])[] {
  return pieces(line).flatMap((piece) => {
    const colon = piece.indexOf(':');
    const key = piece.slice(0, Math.max(0, colon)).trim();
    return /^\w[\w /-]*$/.test(key) ? [[key, unquoted(piece.slice(colon + 1).trim())] as const] : [];
  });
}

/** Splits at commas outside of quotes, in linear time. */
function pieces(line: string): readonly string[] {
  const parts: string[] = [];
  let start = 0;
  let inside = false;
  for (let at = 0; at < line.length; at++) {
    const character = line[at];
    if (inside && character === '\\') at++;
    else if (character === '"') inside = !inside;
    else if (character === ',' && !inside) {
      parts.push(line.slice(start, at));
      start = at + 1;
    }
  }
  return [...parts, line.slice(start)];
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value;
  const parsed = tryParseJson(value);
  return parsed === undefined ? value : String(parsed);
}
