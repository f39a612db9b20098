import { chosenScheduler, modelHash, pictureText, type TextParts } from '../pictures/picture-text.ts';
import { samplerDisplay } from '../pictures/sampler-names.ts';

export interface InfoParts extends TextParts {
  /** Milliseconds since 1970. */
  readonly now: number;
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
