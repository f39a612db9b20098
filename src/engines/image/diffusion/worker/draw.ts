import { AppError } from '../../../../core/errors.ts';
import type { ImageFacts, ImageRequest, UpscaleRequest } from '../../../../core/image.ts';
import type { ImageTold } from '../../host.ts';
import { opaque, readMask, readPicture, resized, writePng } from '../../pictures/codec.ts';
import { blended, channelOf, type Pixels, withAlpha } from '../../pictures/pixels.ts';
import { chosenName, feathered } from '../../worker/given.ts';
import { checkedSize, longestSide, type NetworkOf, upscaledPicture } from '../../worker/upscale.ts';
import type { PaintParams } from '../messages.ts';
import { chosenLora, type DiffusionOptions, type Family, type Loras, nameOfFile } from '../options.ts';
import type { Painter } from '../painter.ts';

export interface DrawParts {
  readonly painter: Pick<Painter, 'draw'>;
  readonly signal: AbortSignal;
  readonly tell: (told: ImageTold, bytes?: Uint8Array) => void;
}

/** One picture after the other, so that each can be seen when it is there. */
export async function draw(request: ImageRequest, options: PaintOptions, parts: DrawParts): Promise<void> {
  const { count, seed } = request;
  const given = { initial: request.initial !== undefined, mask: request.mask !== undefined };
  const { params, untouched, steps, notes } = paintPlan(request, given, options);
  const { width, height } = params;
  const start = await readStart(request, { width, height });
  const sent = start && (await writePng(start.pixels));
  for (let index = 0; index < count; index += 1) {
    const own = { ...params, seed: (seed + index) % 2 ** 32 };
    const png = untouched && sent ? sent : await painted(own, sent, start, parts);
    parts.tell({ type: 'picture', index, seed: own.seed }, png);
  }
  const sampler = params.sampling_method;
  const scheduler = params.scheduler ?? options.facts.schedulers[0] ?? '';
  parts.tell({ type: 'finish', width, height, steps, sampler, scheduler, notes });
}

interface Start {
  readonly pixels: Pixels;
  readonly mask?: Pixels;
}

async function readStart({ initial, mask }: ImageRequest, size: { width: number; height: number }) {
  if (!initial) return undefined;
  const read = await opaque(await readPicture({ bytes: initial, field: 'the initial picture' }));
  const pixels = await resized(read, size);
  if (!mask) return { pixels };
  return { pixels, mask: await feathered(await resized(await readMask({ bytes: mask, field: 'mask' }), size)) };
}

async function painted(
  params: Parameters<Painter['draw']>[0],
  sent: Uint8Array | undefined,
  start: Start | undefined,
  { painter, signal, tell }: DrawParts,
): Promise<Uint8Array> {
  const progress = (step: number, steps: number): void => tell({ type: 'progress', step, steps });
  const drawn = await painter.draw(params, sent, { progress, signal }).catch((error) => {
    signal.throwIfAborted();
    throw asEngineFailure(error);
  });
  const pixels = await opaque(await readPicture({ bytes: drawn, field: 'the picture' }));
  const sized = await resized(pixels, params);
  // Written anew: what the engine puts into its files is not for everybody.
  return writePng(start?.mask ? blended(sized, start.pixels, start.mask) : sized);
}

interface PaintOptions {
  readonly facts: Pick<ImageFacts, 'samplers' | 'schedulers'>;
  readonly family: Family;
  readonly loras: Loras;
  /** Pictures of more than this squared are decoded in tiles; 0 never. */
  readonly tiledFrom: number;
}

interface PaintPlan {
  /** All but the seed, which differs from picture to picture. */
  readonly params: Omit<PaintParams, 'seed'>;
  /** Nothing of the initial picture goes. */
  readonly untouched: boolean;
  /** Steps that are really taken. */
  readonly steps: number;
  readonly notes: readonly string[];
}

type Asked = Omit<ImageRequest, 'initial' | 'mask'>;

/** What the driver is told of a request, and what is told about that. Throws for what it cannot do. */
export function paintPlan(
  request: Asked,
  given: { readonly initial: boolean; readonly mask: boolean },
  { facts, family, loras, tiledFrom }: PaintOptions,
): PaintPlan {
  const sampler = chosenName('sampler', request.sampler, facts.samplers as [string, ...string[]]);
  const scheduler = chosenName('scheduler', request.scheduler, facts.schedulers as [string, ...string[]]);
  const [width, height] = [eights(request.width), eights(request.height)];
  const distilled = family === 'flux' || family === 'flux2';
  const lora = chosenLora(request.loras ?? [], loras);
  const params: PaintPlan['params'] = {
    // The driver refuses nothing at all.
    prompt: request.prompt === '' ? ' ' : request.prompt,
    negative_prompt: request.negativePrompt,
    width,
    height,
    steps: request.steps,
    ...(distilled ? { cfg_scale: 1, guidance: request.guidance } : { cfg_scale: request.guidance }),
    sampling_method: sampler.name,
    // The first is the model's own, which may be one without a name.
    ...(scheduler.name === facts.schedulers[0] ? {} : { scheduler: scheduler.name }),
    batch_count: 1,
    ...(request.clipSkip > 1 ? { clip_skip: request.clipSkip } : {}),
    vae_tiling: tiledFrom > 0 && width * height > tiledFrom ** 2,
    ...(given.initial ? { strength: request.strength } : {}),
    ...(lora === undefined ? {} : { lora }),
  };
  const notes = [
    sampler.note,
    scheduler.note,
    width === request.width && height === request.height ? undefined : `The picture is ${width}×${height}.`,
    distilled && request.negativePrompt !== '' ? 'The model knows no negative prompt.' : undefined,
    given.mask && !given.initial ? 'There is no initial picture, so the mask was left out.' : undefined,
    given.mask && given.initial ? maskNote : undefined,
    request.previewEvery > 0 ? 'The engine shows no pictures on the way.' : undefined,
  ].filter((note) => note !== undefined);
  const share = given.initial ? request.strength : 1;
  const steps = Math.min(request.steps, Math.floor(request.steps * share + 1e-6));
  return { params, untouched: given.initial && share === 0, steps, notes };
}

const maskNote =
  'The engine has no mask of its own: all of the picture was painted anew, and what the mask leaves was put back.';

function eights(side: number): number {
  return Math.max(64, Math.floor(side / 8) * 8);
}

/** What the driver says, as one clause without its full stop. */
export function asEngineFailure(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const text = error instanceof Error ? error.message : String(error);
  return new AppError('engine-failed', { capability: 'image', reason: text.trim().replace(/\.$/, '') });
}

/** Why a model could not be loaded. The driver's own sentence for it names things that no flag here is called by. */
export function loadReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (!/could not create stable-diffusion context/i.test(text)) return text;
  return 'the engine could make no model of it. It may be damaged, of a kind that the engine does not know, or in need of its other parts (--sdclip1, --sdclip2, --sdllm, --sdvae); --debugmode shows what the engine says';
}

interface UpscaleParts {
  readonly painter: Pick<Painter, 'upscale'>;
  readonly networkOf: NetworkOf;
  readonly signal: AbortSignal;
}

/** What these files mostly enlarge by: more than this of a side would be too much for the memory. */
const usualScale = 4;

/** With the person's own file where it is meant, and with what is built in otherwise. */
export async function upscale(
  request: UpscaleRequest,
  { upscaler }: Pick<DiffusionOptions, 'upscaler'>,
  { painter, networkOf, signal }: UpscaleParts,
): Promise<Uint8Array> {
  const asked = request.upscaler.trim().toLowerCase();
  if (upscaler === undefined || nameOfFile(upscaler).toLowerCase() !== asked) {
    return upscaledPicture(request, networkOf, signal);
  }
  const size = checkedSize(request);
  const pixels = await readPicture({ bytes: request.picture, field: 'image' });
  const shrink = Math.min(1, longestSide / usualScale / Math.max(pixels.width, pixels.height));
  const start = await resized(await opaque(pixels), {
    width: Math.max(1, Math.round(pixels.width * shrink)),
    height: Math.max(1, Math.round(pixels.height * shrink)),
  });
  const larger = await painter.upscale(await writePng(start), signal).catch((error) => {
    signal.throwIfAborted();
    throw asEngineFailure(error);
  });
  const sized = await resized(await opaque(await readPicture({ bytes: larger, field: 'the picture' })), size);
  if (pixels.channels !== 4) return writePng(sized);
  return writePng(withAlpha(sized, await resized(channelOf(pixels, 3), size)));
}
