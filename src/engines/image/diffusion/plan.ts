import type { ImageFacts, ImageRequest } from '../../../core/image.ts';
import { chosenName } from '../worker/chosen.ts';
import type { Family } from './checkpoint.ts';
import { chosenLora, type Loras } from './loras.ts';
import type { PaintParams } from './messages.ts';

export interface PaintOptions {
  readonly facts: Pick<ImageFacts, 'samplers' | 'schedulers'>;
  readonly family: Family;
  readonly loras: Loras;
  /** Pictures of more than this squared are decoded in tiles; 0 never. */
  readonly tiledFrom: number;
}

export interface PaintPlan {
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
