import type { ImageRequest, UpscaleRequest } from '../../../../core/image.ts';
import { type DriverProcess, driverFailure } from '../../../bare/driver-process.ts';
import type { TaskTools } from '../../../host/task-worker.ts';
import { blended, opaque, type Pixels, readImage, resized, writePng } from '../../codec.ts';
import type { ImageTaskEvent } from '../../host.ts';
import { chosenName, type InitialImage, readInitial } from '../../worker/request.ts';
import { checkedSize, fitting, type NetworkOf, sizedPng, upscaledImage } from '../../worker/upscale.ts';
import { chosenLora, type DiffusionOptions, type DriverLoad, nameOfFile, upscalerScale } from '../options.ts';

/** Parameters of an image, by their names in the driver. */
export type DiffusionParams = ReturnType<typeof generationPlan>['params'] & { readonly seed: number };

/** An image from the parameters, img2img if the task has input, or the input enlarged. */
export type DiffusionTask =
  | { readonly type: 'generate'; readonly params: DiffusionParams }
  | { readonly type: 'upscale' };

export interface DiffusionProgress {
  readonly step: number;
  readonly steps: number;
}

export type DiffusionDriver = DriverProcess<DriverLoad, DiffusionTask, DiffusionProgress>;

interface DrawDeps extends Pick<TaskTools<ImageTaskEvent>, 'emit' | 'signal'> {
  readonly runDriver: DiffusionDriver['run'];
}

/** Generates one image after the other, so that each is sent as soon as it is complete. */
export async function generate(request: ImageRequest, options: PlanOptions, deps: DrawDeps): Promise<void> {
  const { count, seed } = request;
  const inputs = { initial: request.initial !== undefined, mask: request.mask !== undefined };
  const { params, untouched, steps, notes } = generationPlan(request, inputs, options);
  const { width, height } = params;
  const start = await readInitial(request, { width, height });
  const sent = start && (await writePng(start.pixels));
  for (let index = 0; index < count; index += 1) {
    const own = { ...params, seed: (seed + index) % 2 ** 32 };
    const png = untouched && sent ? sent : await generateOne(own, sent, start, deps);
    deps.emit({ type: 'image', index, seed: own.seed, png });
  }
  const sampler = params.sampling_method;
  const scheduler = params.scheduler ?? options.facts.schedulers[0] ?? '';
  deps.emit({ type: 'finish', width, height, steps, sampler, scheduler, notes });
}

async function generateOne(
  params: DiffusionParams,
  sent: Uint8Array | undefined,
  start: InitialImage | undefined,
  { runDriver, signal, emit }: DrawDeps,
): Promise<Uint8Array> {
  const progress = (at: DiffusionProgress): void => emit({ type: 'progress', ...at });
  const generated = runDriver({ type: 'generate', params }, { input: sent, progress, signal });
  const pixels = await imageOf(generated, signal);
  const sized = await resized(pixels, params);
  // Encoded again, because the driver writes metadata into its files.
  return writePng(start?.mask ? blended(sized, start.pixels, start.mask) : sized);
}

async function imageOf(generated: Promise<Uint8Array>, signal: AbortSignal): Promise<Pixels> {
  const bytes = await generated.catch((error) => {
    throw driverFailure(error, 'image', signal);
  });
  return opaque(await readImage({ bytes, field: 'the picture' }));
}

type PlanOptions = Pick<DiffusionOptions, 'facts' | 'family' | 'loras' | 'tiledFrom'>;

/** Parameters for the driver, with notes about what could not be done. Throws for what the driver cannot do. */
export function generationPlan(
  request: Omit<ImageRequest, 'initial' | 'mask'>,
  inputs: { readonly initial: boolean; readonly mask: boolean },
  { facts, family, loras, tiledFrom }: PlanOptions,
) {
  const sampler = chosenName('sampler', request.sampler, facts.samplers as [string, ...string[]]);
  const scheduler = chosenName('scheduler', request.scheduler, facts.schedulers as [string, ...string[]]);
  const [width, height] = [eights(request.width), eights(request.height)];
  const distilled = family === 'flux' || family === 'flux2';
  const lora = chosenLora(request.loras ?? [], loras);
  const params = {
    // The driver rejects an empty prompt.
    prompt: request.prompt === '' ? ' ' : request.prompt,
    negative_prompt: request.negativePrompt,
    width,
    height,
    steps: request.steps,
    ...(distilled ? { cfg_scale: 1, guidance: request.guidance } : { cfg_scale: request.guidance }),
    sampling_method: sampler.name,
    // The first one is the default of the model, which may have no name.
    ...(scheduler.name === facts.schedulers[0] ? {} : { scheduler: scheduler.name }),
    batch_count: 1,
    ...(request.clipSkip > 1 ? { clip_skip: request.clipSkip } : {}),
    vae_tiling: tiledFrom > 0 && width * height > tiledFrom ** 2,
    ...(inputs.initial ? { strength: request.strength } : {}),
    ...(lora === undefined ? {} : { lora }),
  };
  const notes = [
    sampler.note,
    scheduler.note,
    width === request.width && height === request.height ? undefined : `The picture is ${width}×${height}.`,
    distilled && request.negativePrompt !== '' ? 'The model knows no negative prompt.' : undefined,
    inputs.mask && !inputs.initial ? 'There is no initial picture, so the mask was left out.' : undefined,
    inputs.mask && inputs.initial ? maskNote : undefined,
    request.previewEvery > 0 ? 'The engine shows no pictures on the way.' : undefined,
  ].filter((note) => note !== undefined);
  const strength = inputs.initial ? request.strength : 1;
  const steps = Math.min(request.steps, Math.floor(request.steps * strength + 1e-6));
  return { params, untouched: strength === 0, steps, notes };
}

const maskNote =
  'The engine has no mask of its own: all of the picture was painted anew, and what the mask leaves was put back.';

function eights(side: number): number {
  return Math.max(64, Math.floor(side / 8) * 8);
}

/** Why a model could not be loaded. The message of the driver for it names options that have other names here. */
export function loadReason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  if (!/could not create stable-diffusion context/i.test(text)) return text;
  return 'the engine could make no model of it. It may be damaged, of a kind that the engine does not know, or in need of its other deps (--sdclip1, --sdclip2, --sdllm, --sdvae); --debugmode shows what the engine says';
}

/** With the file of `--sdupscaler` if the request names it, otherwise with a built-in method. */
export async function upscale(
  request: UpscaleRequest,
  { upscaler }: Pick<DiffusionOptions, 'upscaler'>,
  { runDriver, networkOf, signal }: Pick<DrawDeps, 'runDriver' | 'signal'> & { readonly networkOf: NetworkOf },
): Promise<Uint8Array> {
  const upscalerName = request.upscaler.trim().toLowerCase();
  if (upscaler === undefined || nameOfFile(upscaler).toLowerCase() !== upscalerName) {
    return upscaledImage(request, networkOf, signal);
  }
  const size = checkedSize(request);
  const pixels = await readImage({ bytes: request.image, field: 'image' });
  const start = await writePng(await fitting(await opaque(pixels), upscalerScale));
  const larger = runDriver({ type: 'upscale' }, { input: start, progress: () => {}, signal });
  return sizedPng(await imageOf(larger, signal), size, pixels);
}
