import { AppError } from '../../core/errors.ts';
import type { AskedLora, Drawings, ImageFacts, ImageRequest, ImageService } from '../../core/image.ts';
import type { PictureEditor } from '../../core/pictures.ts';
import type { TaskServices } from '../../core/task-services.ts';
import type { JsonObject } from '../../http/body.ts';
import type { DialectParts } from '../dialect.ts';
import { clamp } from '../fields/readers.ts';
import { chosenSampler } from './sampler-names.ts';
import { drawnSize, type SizeLimits } from './size.ts';

/** What every dialect of pictures is built on. */
export interface PictureParts extends Pick<DialectParts, 'others' | 'now' | 'newId' | 'startTimer'> {
  readonly sizes: SizeLimits;
  /** `--gendefaults`, those of the image fields included. */
  readonly imageDefaults: (body: JsonObject) => JsonObject;
  readonly randomSeed: () => number;
  readonly product: { readonly name: string; readonly version: string };
  readonly editor: PictureEditor;
  /** Those of the whole server. */
  readonly drawings: Drawings;
}

/** A picture as a client asks for it; what is left out is the model's to say. */
export interface AskedPicture {
  readonly prompt: string;
  readonly negativePrompt?: string | undefined;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
  readonly steps?: number | undefined;
  readonly guidance?: number | undefined;
  readonly sampler?: string | undefined;
  readonly scheduler?: string | undefined;
  /** Below 0, or left out: a random one. */
  readonly seed?: number | undefined;
  readonly count?: number | undefined;
  readonly clipSkip?: number | undefined;
  readonly strength?: number | undefined;
  readonly previewEvery?: number | undefined;
  readonly mostSteps?: number | undefined;
  readonly mostGuidance?: number | undefined;
  /** Of those that the model has. */
  readonly loras?: readonly AskedLora[] | undefined;
}

/** More would keep everybody else waiting for too long. */
export const mostPictures = 10;
const mostSteps = 80;
const mostGuidance = 25;
/** How much of a picture that the drawing begins from goes, unless told otherwise. */
export const usualStrength = 0.6;
/** For those who may look at a picture on its way: often enough to see something, and no work to speak of. */
export const usualPreviewEvery = 4;
const longestPrompt = 3000;

/** Throws where there is nobody who draws. */
export function imageOf(others: TaskServices | undefined): ImageService {
  if (others?.image) return others.image;
  throw new AppError('model-missing', { capability: 'image', flag: '--sdmodel FILE' });
}

/** Everything brought into its bounds. */
export function imageRequest(
  asked: AskedPicture,
  facts: ImageFacts,
  { sizes, randomSeed }: Pick<PictureParts, 'sizes' | 'randomSeed'>,
): ImageRequest {
  const { defaults } = facts;
  const size = { width: asked.width ?? defaults.size, height: asked.height ?? defaults.size };
  return {
    prompt: cutText(asked.prompt, longestPrompt),
    negativePrompt: cutText(asked.negativePrompt ?? '', longestPrompt),
    ...drawnSize(size, sizes, facts),
    steps: Math.round(clamp(asked.steps ?? defaults.steps, 1, clamp(asked.mostSteps ?? mostSteps, 1, mostSteps))),
    guidance: clamp(asked.guidance ?? defaults.guidance, 1, clamp(asked.mostGuidance ?? mostGuidance, 1, mostGuidance)),
    ...chosenSampler(asked.sampler ?? '', asked.scheduler ?? '', facts),
    seed: engineSeed(asked.seed) ?? randomSeed(),
    count: Math.round(clamp(asked.count ?? 1, 1, mostPictures)),
    // An explicit 1 means the same as none, and some models draw nothing but black for it.
    clipSkip: (asked.clipSkip ?? 0) > 1 ? Math.round(clamp(asked.clipSkip ?? 0, 2, 12)) : 0,
    strength: clamp(asked.strength ?? usualStrength, 0, 1),
    previewEvery: asked.previewEvery ?? 0,
    ...(asked.loras ? { loras: asked.loras } : {}),
  };
}

/** Clients send up to 64 bits of which JSON keeps 53, and engines take 32. */
function engineSeed(seed: number | undefined): number | undefined {
  return seed === undefined || !(seed >= 0 && seed < Number.POSITIVE_INFINITY) ? undefined : Math.trunc(seed) % 2 ** 32;
}

/** At most so many bytes, and whole characters. */
function cutText(text: string, bytes: number): string {
  const all = Buffer.from(text, 'utf8');
  return all.length <= bytes ? text : all.toString('utf8', 0, bytes).replace(/\ufffd+$/, '');
}
