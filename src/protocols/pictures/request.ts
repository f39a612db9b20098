import { AppError } from '../../core/errors.ts';
import type { Drawings, ImageFacts, ImageRequest, ImageService } from '../../core/image.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import type { PictureEditor } from '../../core/pictures.ts';
import type { TaskServices } from '../../core/task-services.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Call } from '../../http/call.ts';
import type { DialectParts } from '../dialect.ts';
import { clamp } from '../fields/readers.ts';
import { chosenSampler } from './sampler-names.ts';
import { drawnSize, type SizeLimits } from './size.ts';

/** The part of the context that all image dialects use. */
export interface PictureParts extends Pick<DialectParts, 'others' | 'now' | 'newId' | 'startTimer'> {
  readonly sizes: SizeLimits;
  /** `--gendefaults`, those of the image fields included. */
  readonly imageDefaults: (body: JsonObject) => JsonObject;
  readonly randomSeed: () => number;
  readonly product: { readonly name: string; readonly version: string };
  readonly editor: PictureEditor;
  /** The running drawings of the whole server. */
  readonly drawings: Drawings;
}

type Optional<Values> = { readonly [Name in keyof Values]?: Values[Name] | undefined };

/** A request before defaults and limits are applied. A negative seed means a random one. */
export interface AskedPicture extends Optional<Omit<ImageRequest, 'prompt' | 'initial' | 'mask'>> {
  readonly prompt: string;
  readonly mostSteps?: number | undefined;
  readonly mostGuidance?: number | undefined;
}

export const mostPictures = 10;
const mostSteps = 80;
const mostGuidance = 25;
/** Default denoising strength. */
const defaultStrength = 0.6;
/** Steps between two previews. */
export const defaultPreviewEvery = 4;
const longestPrompt = 3000;

/** Throws if there is no image model. */
export function imageOf(others: TaskServices | undefined): ImageService {
  if (others?.image) return others.image;
  throw new AppError('model-missing', { capability: 'image', flag: '--sdmodel FILE' });
}

/** The facts that a client may see: without the key no names, files and hashes. */
export function factsFor(
  { authorized }: Pick<Call, 'authorized'>,
  facts: ImageFacts | undefined,
): ImageFacts | undefined {
  if (authorized || !facts) return facts;
  const { sha256: _hash, vae: _vae, ...rest } = facts;
  return { ...rest, name: hiddenModelName, title: hiddenModelName, path: hiddenModelName, loras: [] };
}

/** Applies defaults and limits. */
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
    // 1 means none; some models draw only black for it.
    clipSkip: (asked.clipSkip ?? 0) > 1 ? Math.round(clamp(asked.clipSkip ?? 0, 2, 12)) : 0,
    strength: clamp(asked.strength ?? defaultStrength, 0, 1),
    previewEvery: asked.previewEvery ?? 0,
    ...(asked.loras ? { loras: asked.loras } : {}),
  };
}

/** Clients send up to 64 bits; engines take 32. */
function engineSeed(seed: number | undefined): number | undefined {
  return seed === undefined || !(seed >= 0 && seed < Number.POSITIVE_INFINITY) ? undefined : Math.trunc(seed) % 2 ** 32;
}

/** Cut to a number of bytes, without splitting a character. */
function cutText(text: string, bytes: number): string {
  const all = Buffer.from(text, 'utf8');
  return all.length <= bytes ? text : all.toString('utf8', 0, bytes).replace(/\ufffd+$/, '');
}
