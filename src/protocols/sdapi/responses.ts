import * as s from '../response-schemas.ts';

const error = s.object({
  error: s.literal('HTTPException'),
  detail: s.busyDetail,
  body: s.literal(''),
  errors: s.string,
});

/** `parameters` repeats the request, with its effective values. */
const drawing = {
  images: s.array(s.base64),
  parameters: s.looseObject({
    prompt: s.string,
    negative_prompt: s.string,
    ...s.properties(s.count, 'steps', 'width', 'height'),
    seed: s.integer,
    cfg_scale: s.number,
    sampler_name: s.string,
    'scheduler?': s.string,
    denoising_strength: s.number,
  }),
  info: s.string,
  animated: s.boolean,
  extra_data: s.string,
  final_frame: s.string,
};
// With padding the status is sent before a failure is known.
const drawn = s.json(s.union(s.named('Drawing', s.object(drawing)), error));

const progress = s.object({
  'stored?': s.boolean,
  progress: s.number,
  eta_relative: s.number,
  state: s.object({
    ...s.properties(s.boolean, 'skipped', 'interrupted', 'stopping_generation'),
    job: s.string,
    job_count: s.count,
    job_timestamp: s.string,
    ...s.properties(s.count, 'job_no', 'sampling_step', 'sampling_steps'),
  }),
  current_image: s.nullable(s.base64),
  current_task: s.nullable(s.string),
  textinfo: s.nullable(s.string),
});

const options = s.object({
  ...s.properties(s.string, 'samples_format', 'sd_model_checkpoint', 'sd_checkpoint_hash', 'sd_vae'),
  CLIP_stop_at_last_layers: s.integer,
  eta_noise_seed_delta: s.integer,
});

const model = s.object({
  ...s.properties(s.string, 'title', 'model_name', 'hash', 'sha256', 'filename'),
  config: s.nil,
});

const upscaler = s.object({
  name: s.string,
  model_name: s.nullable(s.string),
  model_path: s.nil,
  model_url: s.nil,
  scale: s.number,
});

const memory = s.object({
  ram: s.object({ free: s.count, used: s.count, total: s.count }),
  cuda: s.object({ error: s.string }),
});

export const errors = { sdapi: error };

export const responses = {
  textToImage: drawn,
  imageToImage: drawn,
  upscaledImage: s.jsonObject({ html_info: s.string, image: s.base64 }),
  upscaledImages: s.jsonObject({ html_info: s.string, images: s.array(s.base64) }),
  caption: s.jsonObject({ caption: s.string }),
  imageInfo: s.jsonObject({ info: s.string, items: s.record(s.string), parameters: s.anyObject }),
  empty: s.jsonObject({}),
  nil: s.json(s.nil),
  setOptions: s.json(s.nil),
  options: s.json(options),
  progress: s.json(progress),
  lastImage: s.jsonObject({ ...drawing, prompt: s.string, models: s.array(s.string) }),
  models: s.json(s.array(model)),
  samplers: s.json(s.array(s.object({ name: s.string, aliases: s.array(s.string), options: s.anyObject }))),
  schedulers: s.json(s.array(s.object({ name: s.string, label: s.string, aliases: s.array(s.string) }))),
  upscalers: s.json(s.array(upscaler)),
  loras: s.json(s.array(s.object({ name: s.string, alias: s.string, path: s.string, metadata: s.anyObject }))),
  vae: s.json(s.array(s.object({ model_name: s.string, filename: s.string }))),
  none: s.json({ type: 'array', maxItems: 0 }),
  scripts: s.jsonObject({ txt2img: s.array(s.string), img2img: s.array(s.string) }),
  embeddings: s.jsonObject({ loaded: s.anyObject, skipped: s.anyObject }),
  flags: s.jsonObject({ api: s.boolean, ckpt: s.nullable(s.string) }),
  memory: s.json(memory),
};

export const examples = {
  textToImage: { prompt: 'a house on a hill', width: 256, height: 256, steps: 8 },
  setOptions: {},
};
