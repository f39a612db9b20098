import * as a from '../answers.ts';

const error = a.object({
  error: a.words('HTTPException'),
  detail: a.object({ msg: a.text, type: a.text, 'error?': a.text }),
  body: a.words(''),
  errors: a.text,
});

/** `parameters` repeats the request, with its effective values. */
const drawing = {
  images: a.list(a.base64),
  parameters: a.open({
    prompt: a.text,
    negative_prompt: a.text,
    ...a.members(a.count, 'steps', 'width', 'height'),
    seed: a.whole,
    cfg_scale: a.number,
    sampler_name: a.text,
    'scheduler?': a.text,
    denoising_strength: a.number,
  }),
  info: a.text,
  animated: a.flag,
  extra_data: a.text,
  final_frame: a.text,
};
// With padding the status is sent before a failure is known.
const drawn = a.json(a.either(a.named('Drawing', a.object(drawing)), error));

const upscaled = a.answer({ html_info: a.text, image: a.base64 });

const progress = a.object({
  'stored?': a.flag,
  progress: a.number,
  eta_relative: a.number,
  state: a.object({
    ...a.members(a.flag, 'skipped', 'interrupted', 'stopping_generation'),
    job: a.text,
    job_count: a.count,
    job_timestamp: a.text,
    ...a.members(a.count, 'job_no', 'sampling_step', 'sampling_steps'),
  }),
  current_image: a.orNull(a.base64),
  current_task: a.orNull(a.text),
  textinfo: a.orNull(a.text),
});

const options = a.object({
  ...a.members(a.text, 'samples_format', 'sd_model_checkpoint', 'sd_checkpoint_hash', 'sd_vae'),
  CLIP_stop_at_last_layers: a.whole,
  eta_noise_seed_delta: a.whole,
});

const model = a.object({
  ...a.members(a.text, 'title', 'model_name', 'hash', 'sha256', 'filename'),
  config: a.nothing,
});

const upscaler = a.object({
  name: a.text,
  model_name: a.orNull(a.text),
  model_path: a.nothing,
  model_url: a.nothing,
  scale: a.number,
});

const memory = a.object({
  ram: a.object({ free: a.count, used: a.count, total: a.count }),
  cuda: a.object({ error: a.text }),
});

const path = (name: string): string => `/sdapi/v1/${name}`;
const vae = a.json(a.list(a.object({ model_name: a.text, filename: a.text })));
const none = a.json({ type: 'array', maxItems: 0 });
const nothing = a.json(a.nothing);
const empty = a.answer({});

export const sdapiAnswers: a.DialectAnswers = {
  errors: { sdapi: error },
  answers: {
    ...a.each('POST', ['txt2img', 'img2img'].map(path), drawn),
    'POST /sdapi/v1/extra-single-image': upscaled,
    'POST /sdapi/v1/extra-batch-images': a.answer({ html_info: a.text, images: a.list(a.base64) }),
    'POST /sdapi/v1/interrogate': a.answer({ caption: a.text }),
    'POST /sdapi/v1/png-info': a.answer({ info: a.text, items: a.mapOf(a.text), parameters: a.anyObject }),
    ...a.each('POST', ['interrupt', 'unload-checkpoint', 'reload-checkpoint'].map(path), empty),
    ...a.each('POST', ['skip', 'options', 'refresh-checkpoints', 'refresh-vae'].map(path), nothing),
    ...a.each('POST', ['refresh-embeddings', 'refresh-loras'].map(path), nothing),
    'GET /sdapi/v1/options': a.json(options),
    'GET /sdapi/v1/progress': a.json(progress),
    'GET /sdapi/v1/get_last.json': a.answer({ ...drawing, prompt: a.text, models: a.list(a.text) }),
    'GET /sdapi/v1/sd-models': a.json(a.list(model)),
    'GET /sdapi/v1/samplers': a.json(a.list(a.object({ name: a.text, aliases: a.list(a.text), options: a.anyObject }))),
    'GET /sdapi/v1/schedulers': a.json(a.list(a.object({ name: a.text, label: a.text, aliases: a.list(a.text) }))),
    'GET /sdapi/v1/upscalers': a.json(a.list(upscaler)),
    'GET /sdapi/v1/loras': a.json(
      a.list(a.object({ name: a.text, alias: a.text, path: a.text, metadata: a.anyObject })),
    ),
    ...a.each('GET', ['sd-vae', 'sd-modules'].map(path), vae),
    ...a.each('GET', ['latent-upscale-modes', 'prompt-styles', 'hypernetworks', 'face-restorers'].map(path), none),
    ...a.each('GET', ['realesrgan-models', 'extensions', 'script-info'].map(path), none),
    'GET /sdapi/v1/scripts': a.answer({ txt2img: a.list(a.text), img2img: a.list(a.text) }),
    'GET /sdapi/v1/embeddings': a.answer({ loaded: a.anyObject, skipped: a.anyObject }),
    'GET /sdapi/v1/cmd-flags': a.answer({ api: a.flag, ckpt: a.orNull(a.text) }),
    'GET /sdapi/v1/memory': a.json(memory),
  },
  examples: {
    'POST /sdapi/v1/txt2img': { prompt: 'a house on a hill', width: 256, height: 256, steps: 8 },
    'POST /sdapi/v1/options': {},
  },
};
