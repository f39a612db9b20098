import type { ImageFacts, ImageRequest } from '../../core/image.ts';
import type { Drawn } from '../pictures/drawn.ts';
import { infotext } from '../pictures/infotext.ts';
import { samplerDisplay } from '../pictures/sampler-names.ts';

export interface InfoParts {
  readonly request: ImageRequest;
  readonly drawn: Drawn;
  readonly facts: ImageFacts;
  readonly product: { readonly name: string; readonly version: string };
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What clients compare where no hash is known. */
const noHash = '8888888888';

export function modelHash({ sha256 }: Pick<ImageFacts, 'sha256'>): string {
  return sha256?.slice(0, 10) ?? noHash;
}

/** The text that goes into one picture. Some read its last line by position: the first seven of it are always there. */
export function pictureText({ request, drawn, facts, product }: Omit<InfoParts, 'now'>, seed: number): string {
  const { prompt, negativePrompt, guidance } = request;
  return infotext({
    prompt,
    negativePrompt,
    entries: [
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
    ],
  });
}

/** Everything that the original tells of a request; what it has and this server has not is neutral. */
export function infoOf(parts: InfoParts): object {
  const { request, drawn, facts, product, now } = parts;
  const { prompt, negativePrompt } = request;
  const seeds = drawn.pictures.map(({ seed }) => seed);
  const each = <Value>(value: Value): readonly Value[] => seeds.map(() => value);
  const scheduler = chosenScheduler(drawn, facts);
  return {
    prompt,
    all_prompts: each(prompt),
    negative_prompt: negativePrompt,
    all_negative_prompts: each(negativePrompt),
    seed: seeds[0] ?? request.seed,
    all_seeds: seeds,
    subseed: -1,
    all_subseeds: each(-1),
    subseed_strength: 0,
    width: drawn.width,
    height: drawn.height,
    sampler_name: samplerDisplay(drawn.sampler),
    cfg_scale: request.guidance,
    steps: drawn.steps,
    batch_size: request.count,
    restore_faces: false,
    face_restoration_model: null,
    sd_model_name: facts.name,
    sd_model_hash: modelHash(facts),
    sd_vae_name: null,
    sd_vae_hash: null,
    seed_resize_from_w: -1,
    seed_resize_from_h: -1,
    denoising_strength: request.initial ? request.strength : null,
    extra_generation_params: scheduler === undefined ? {} : { 'Schedule type': scheduler },
    index_of_first_image: 0,
    infotexts: seeds.map((seed) => pictureText(parts, seed)),
    styles: [],
    job_timestamp: timestamp(now),
    clip_skip: Math.max(1, request.clipSkip),
    is_using_inpainting_conditioning: request.mask !== undefined,
    version: `${product.name} ${product.version}`,
    notes: drawn.notes,
  };
}

/** `20260115093000` */
export function timestamp(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\D/g, '').slice(0, 14);
}

/** Left out where it is the model's own. */
function chosenScheduler({ scheduler }: Drawn, { schedulers }: ImageFacts): string | undefined {
  return scheduler === '' || scheduler === schedulers[0] ? undefined : scheduler;
}
