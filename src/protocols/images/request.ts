import type { Settings } from '../../config/flags.ts';
import { AppError, asAppError } from '../../core/errors.ts';
import type { ImageEvent, ImageFacts, ImageJobs, ImageRequest, ImageService, RequestedLora } from '../../core/image.ts';
import type { ImageEditor, Size } from '../../core/image-editing.ts';
import { hiddenModelName } from '../../core/model-names.ts';
import type { TaskServices } from '../../core/task-services.ts';
import type { Call } from '../../http/call.ts';
import type { DialectContext } from '../dialect.ts';
import { clamp } from '../fields.ts';
import { chosenSampler } from './sampler-names.ts';

/** What the handlers of all image dialects use. */
export interface ImageContext extends Pick<DialectContext, 'taskServices' | 'applyDefaults' | 'now' | 'startTimer'> {
  readonly settings: Pick<Settings, 'sdclamped' | 'sdclampedsoft'>;
  readonly randomSeed: () => number;
  readonly product: { readonly name: string; readonly version: string };
  readonly editor: ImageEditor;
  /** The running drawings of the whole server. */
  readonly imageJobs: ImageJobs;
}

/** What is the same for all models. */
export type ImageServices = Pick<
  ImageContext,
  'now' | 'startTimer' | 'randomSeed' | 'product' | 'editor' | 'imageJobs'
>;

type Optional<Values> = { readonly [Name in keyof Values]?: Values[Name] | undefined };

/** A request before defaults and limits are applied. A negative seed means a random one. */
export interface RequestedImage extends Optional<Omit<ImageRequest, 'prompt' | 'initial' | 'mask'>> {
  readonly prompt: string;
  readonly maxSteps?: number | undefined;
  readonly maxGuidance?: number | undefined;
}

export const maxImages = 10;
const maxSteps = 80;
const maxGuidance = 25;
/** Default denoising strength. */
const defaultStrength = 0.6;
/** Steps between two previews. */
export const defaultPreviewEvery = 4;
const maxPromptTokens = 3000;

/** Throws if there is no image model. */
export function imageOf(taskServices: TaskServices | undefined): ImageService {
  if (taskServices?.image) return taskServices.image;
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
  requested: RequestedImage,
  facts: ImageFacts,
  { settings, randomSeed }: Pick<ImageContext, 'settings' | 'randomSeed'>,
): ImageRequest {
  const { defaults } = facts;
  const size = { width: requested.width ?? defaults.size, height: requested.height ?? defaults.size };
  return {
    prompt: cutText(requested.prompt, maxPromptTokens),
    negativePrompt: cutText(requested.negativePrompt ?? '', maxPromptTokens),
    ...allowedSize(size, { maxSide: settings.sdclamped, areaSide: settings.sdclampedsoft }, facts),
    steps: Math.round(clamp(requested.steps ?? defaults.steps, 1, clamp(requested.maxSteps ?? maxSteps, 1, maxSteps))),
    guidance: clamp(
      requested.guidance ?? defaults.guidance,
      1,
      clamp(requested.maxGuidance ?? maxGuidance, 1, maxGuidance),
    ),
    ...chosenSampler(requested.sampler ?? '', requested.scheduler ?? '', facts),
    seed: engineSeed(requested.seed) ?? randomSeed(),
    count: Math.round(clamp(requested.count ?? 1, 1, maxImages)),
    // 1 means none; some models draw only black for it.
    clipSkip: (requested.clipSkip ?? 0) > 1 ? Math.round(clamp(requested.clipSkip ?? 0, 2, 12)) : 0,
    strength: clamp(requested.strength ?? defaultStrength, 0, 1),
    previewEvery: requested.previewEvery ?? 0,
    ...(requested.loras ? { loras: requested.loras } : {}),
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

export interface SizeLimits {
  /** `--sdclamped`: longest side; 0 for no limit. */
  readonly maxSide: number;
  /** `--sdclampedsoft`: side of a square with the largest area; 0 for the default of the model. */
  readonly areaSide: number;
}

const minSide = 64;
const maxSide = 8192;

/** The size to draw: within the limits, a multiple of the model's step, and as near as possible to the requested aspect ratio. */
export function allowedSize(requested: Size, limits: SizeLimits, facts: Pick<ImageFacts, 'nativeSize'>): Size {
  // Large models need sizes that can be halved several times.
  const step = facts.nativeSize >= 512 ? 64 : 8;
  const [width, height] = [clamp(requested.width, minSide, maxSide), clamp(requested.height, minSide, maxSide)];
  const side = limits.maxSide > 0 ? Math.max(minSide, limits.maxSide) : maxSide;
  const area = areaLimit(limits, facts);
  const scale = Math.min(1, side / Math.max(width, height), Math.sqrt(area / (width * height)));
  if (scale === 1) return { width: floorTo(width, step), height: floorTo(height, step) };
  const fits = (size: Size): boolean => Math.max(size.width, size.height) <= side && size.width * size.height <= area;
  const candidates = nearby(width * scale, step).flatMap((near) =>
    nearby(height * scale, step).map((other) => ({ width: near, height: other })),
  );
  const distance = (size: Size): number => Math.abs(Math.log(size.width / size.height / (width / height)));
  const [best] = candidates.filter(fits).sort((a, b) => distance(a) - distance(b) || b.width - a.width);
  return best ?? squeezed({ width: width * scale, height: height * scale }, { step, side, area });
}

function areaLimit({ areaSide }: SizeLimits, { nativeSize }: Pick<ImageFacts, 'nativeSize'>): number {
  const native = nativeSize >= 512 && nativeSize <= 768 ? 832 : 1024;
  return (areaSide > 0 ? clamp(areaSide, minSide, 2048) : native) ** 2;
}

/** For extreme aspect ratios, whose shorter side has its minimum. */
function squeezed(size: Size, { step, side, area }: { step: number; side: number; area: number }): Size {
  const short = floorTo(Math.min(size.width, size.height), step);
  const long = floorTo(Math.min(Math.max(size.width, size.height), side, area / short), step);
  return size.width >= size.height ? { width: long, height: short } : { width: short, height: long };
}

function nearby(value: number, step: number): readonly number[] {
  return [...new Set([floorTo(value, step), floorTo(value + step, step)])];
}

function floorTo(value: number, step: number): number {
  return Math.max(minSide, Math.floor(value / step) * step);
}

/** `<lora:NAME:WEIGHT>` and similar tags. */
const tag = /<(?:lora|lyco|hypernet):([^:<>]{1,200})(?::([^<>]{0,100}))?>/gi;

/** The prompt without its tags, which a model would read as words. */
export function withoutLoraTags(prompt: string): { readonly prompt: string; readonly loras: readonly RequestedLora[] } {
  const loras = [...prompt.matchAll(tag)].map(([, name = '', weight]) => ({ name, weight: weightOf(weight) }));
  if (loras.length === 0) return { prompt, loras };
  const words = prompt.replace(tag, ' ').replace(/[ \t]{2,}/g, ' ');
  return { prompt: words.replace(/ +([,.])/g, '$1').trim(), loras };
}

/** The LoRAs that the model has, and a note for each that it does not have. */
export function knownLoras(
  requested: readonly RequestedLora[],
  { loras = [] }: Pick<ImageFacts, 'loras'>,
): { readonly loras?: readonly RequestedLora[]; readonly notes: readonly string[] } {
  const isKnown = ({ name }: RequestedLora): boolean =>
    loras.some((each) => [each.name, each.file].some((one) => one.toLowerCase() === name.toLowerCase()));
  const known = requested.filter(isKnown);
  const notes = requested.filter((each) => !isKnown(each)).map(({ name }) => `There is no LoRA ${name}`);
  return { ...(known.length > 0 ? { loras: known } : {}), notes };
}

/** Of two weights the second is for the text encoder and ignored. */
function weightOf(text: string | undefined): number {
  const weight = Number.parseFloat(text ?? '1');
  return Number.isFinite(weight) ? weight : 1;
}

export interface ImageResult extends Omit<Extract<ImageEvent, { type: 'finish' }>, 'type'> {
  readonly pictures: readonly { readonly seed: number; readonly png: Uint8Array }[];
  /** Stopped, so that images are missing. */
  readonly stopped: boolean;
}

/**
 * Collects all events of a request. A stopped request keeps its finished images. A request whose last image was skipped
 * has no `finish` event, and counts as stopped only if it has no images.
 */
export async function collectImages(events: AsyncIterable<ImageEvent>, request: ImageRequest): Promise<ImageResult> {
  const { width, height, steps, sampler, scheduler } = request;
  const pictures: ImageResult['pictures'][number][] = [];
  const requested = { width, height, steps, sampler, scheduler, notes: [] as readonly string[] };
  let done: typeof requested | undefined;
  try {
    for await (const event of events) {
      if (event.type === 'image') pictures[event.index] = { seed: event.seed, png: event.png };
      else if (event.type === 'finish') done = event;
    }
  } catch (error) {
    if (asAppError(error).code !== 'stopped') throw error;
    return { ...requested, pictures: Object.values(pictures), stopped: true };
  }
  // Skipped images leave gaps.
  const finished = Object.values(pictures);
  return { ...(done ?? requested), pictures: finished, stopped: done === undefined && finished.length === 0 };
}

/** Rounded, and limited to the largest side. */
export function enlargedSize({ width, height }: Size): Size {
  return { width: Math.round(clamp(width, 1, maxSide)), height: Math.round(clamp(height, 1, maxSide)) };
}

export function isTooLarge({ width, height }: Size): boolean {
  return width > maxSide || height > maxSide;
}

/** Resampling methods, which need no network. */
const resamplers: ReadonlySet<string> = new Set(['none', 'nearest', 'lanczos']);

type Upscaler = ImageFacts['upscalers'][number];

export function isResampler(name: string): boolean {
  return resamplers.has(name.trim().toLowerCase());
}

/** The upscalers that are networks. */
export function networksOf({ upscalers }: Pick<ImageFacts, 'upscalers'>): readonly Upscaler[] {
  return upscalers.filter(({ name }) => !isResampler(name));
}

/**
 * The upscaler of this name, or else the network with the smallest factor that is large enough. Undefined if there is none;
 * `None` for a resampler that the engine does not have.
 */
export function chooseUpscaler(
  requested: string | undefined,
  facts: Pick<ImageFacts, 'upscalers'>,
  factor: number,
): Upscaler | undefined {
  const named = facts.upscalers.find(({ name }) => name.toLowerCase() === requested?.trim().toLowerCase());
  if (named) return named;
  if (requested && isResampler(requested)) return { name: 'None', scale: 1 };
  const networks = [...networksOf(facts)].sort((one, other) => one.scale - other.scale);
  return networks.find(({ scale }) => scale >= factor) ?? networks.at(-1);
}
