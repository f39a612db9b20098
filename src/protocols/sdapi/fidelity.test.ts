import { expect } from 'vitest';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { JsonObject } from '../../http/body.ts';
import { fieldTables } from '../fidelity/fidelity.ts';
import { fitted, fittedMask, readImage } from '../images/sent-image.ts';
import { asking, type Proof, proveFidelity } from '../testing/fidelity-proof.ts';
import { base64Of, fakeImage, inProcessEditor, pngOf } from '../testing/pictures.ts';
import { sdapiWorld } from './testing/world.ts';

const picture = base64Of(pngOf(16, 16));
const other = base64Of(pngOf(24, 8));
const white = base64Of(pngOf(4, 4, [255, 255, 255]));
const init = { init_images: [picture] };
const asks = (value: object) => ({ request: value });
const hires = { enable_hr: true };
const small = { width: 64, height: 64 };

const size = { width: 512, height: 512 };
const sent = (base64: string) => readImage(base64, 'image');
/** The request in the form of the proofs. */
const asJson = (value: unknown) => JSON.parse(JSON.stringify(value));

function world() {
  const fake = fakeImage({ facts: { loras: [{ name: 'film', file: 'film.safetensors' }] } });
  const { endpoints, chats } = sdapiWorld(fake);
  return {
    endpoints,
    get asked() {
      return [...fake.asked, ...fake.upscaled, ...chats];
    },
  };
}

const drawProofs: Record<string, Proof> = {
  prompt: { send: { prompt: 'a boat' }, asks: asks({ prompt: 'a boat' }), refuses: [{ prompt: 5 }] },
  negative_prompt: {
    send: { negative_prompt: 'fog' },
    asks: asks({ negativePrompt: 'fog' }),
    refuses: [{ negative_prompt: {} }],
  },
  steps: { send: { steps: '7' }, asks: asks({ steps: 7 }) },
  cfg_scale: { send: { cfg_scale: 3.5 }, asks: asks({ guidance: 3.5 }) },
  seed: { send: { seed: 12 }, asks: asks({ seed: 12 }) },
  sampler_name: {
    send: { sampler_name: 'Euler a' },
    asks: asks({ sampler: 'euler_a' }),
    refuses: [{ sampler_name: 5 }],
  },
  sampler_index: { send: { sampler_index: 'Euler a' }, asks: asks({ sampler: 'euler_a' }) },
  scheduler: { send: { scheduler: 'karras' }, asks: asks({ scheduler: 'karras' }) },
  denoising_strength: { send: { denoising_strength: 0.25 }, asks: asks({ strength: 0.25 }) },
  clip_skip: { send: { clip_skip: 2 }, asks: asks({ clipSkip: 2 }) },
  lora: {
    send: { lora: [{ path: 'film.safetensors', multiplier: 0.5 }, { name: 'nothing' }] },
    asks: asks({ loras: [{ name: 'film.safetensors', weight: 0.5 }] }),
    refuses: [{ lora: 5 }, { lora: [5] }],
  },
  genkey: { send: { genkey: 'mine' }, asks: { requestContext: { genkey: 'mine' } } },
  force_task_id: { send: { force_task_id: 'task(1)' }, asks: { requestContext: { genkey: 'task(1)' } } },
  kcpp_extra_args: {
    send: { kcpp_extra_args: { keep_image_gen_on_disconnect: true } },
    tells: /"keep_image_gen_on_disconnect":true/,
    refuses: [{ kcpp_extra_args: 5 }],
  },
  keep_image_gen_on_disconnect: {
    send: { keep_image_gen_on_disconnect: true },
    tells: /"keep_image_gen_on_disconnect":true/,
    refuses: [{ keep_image_gen_on_disconnect: 'maybe' }],
  },
  width: { send: { width: 128 }, asks: asks({ width: 128 }) },
  height: { send: { height: 128 }, asks: asks({ height: 128 }) },
  batch_size: { send: { batch_size: 2 }, asks: asks({ count: 2 }) },
  n_iter: { send: { n_iter: 3 }, beside: { batch_size: 2 }, asks: asks({ count: 6 }) },
  init_images: {
    send: init,
    asks: asks({ initial: expect.anything() }),
    refuses: [{ init_images: ['x'] }, { init_images: 5 }],
  },
  mask: { send: { mask: white }, beside: init, asks: asks({ mask: expect.anything() }), refuses: [{ mask: 'x' }] },
  inpainting_mask_invert: {
    send: { inpainting_mask_invert: 1 },
    beside: { ...init, mask: white },
    asks: asks({
      mask: asJson(await fittedMask(inProcessEditor, sent(white), { size, fit: 'cover', inverted: true })),
    }),
  },
  resize_mode: {
    send: { resize_mode: 2 },
    beside: { init_images: [other] },
    asks: asks({ initial: asJson(await fitted(inProcessEditor, sent(other), size, 'contain')) }),
  },
  extra_images: {
    send: { extra_images: [picture] },
    asks: asks({ initial: expect.anything() }),
    refuses: [{ extra_images: ['x'] }],
  },
  enable_hr: { send: hires, asks: asks({ upscaler: 'Soft_2x' }) },
  hr_scale: { send: { hr_scale: 3 }, beside: { ...hires, ...small }, asks: asks({ width: 192, height: 192 }) },
  hr_resize_x: { send: { hr_resize_x: 100 }, beside: { ...hires, ...small }, asks: asks({ width: 100 }) },
  hr_resize_y: { send: { hr_resize_y: 100 }, beside: { ...hires, ...small }, asks: asks({ height: 100 }) },
  hr_upscaler: { send: { hr_upscaler: 'ESRGAN_4x' }, beside: hires, asks: asks({ upscaler: 'ESRGAN_4x' }) },
  'override_settings.CLIP_stop_at_last_layers': {
    send: { override_settings: { CLIP_stop_at_last_layers: 2.0 } },
    asks: asks({ clipSkip: 2 }),
  },
  'adapter.add_sd_prompt': {
    send: { adapter: { add_sd_prompt: 'sharp' } },
    beside: { prompt: 'a' },
    asks: asks({ prompt: 'a, sharp' }),
  },
  'adapter.add_sd_negative_prompt': {
    send: { adapter: { add_sd_negative_prompt: 'fog' } },
    asks: asks({ negativePrompt: 'fog' }),
  },
  'adapter.add_sd_step_limit': { send: { adapter: { add_sd_step_limit: 5 } }, asks: asks({ steps: 5 }) },
  'adapter.add_sd_cfg_limit': { send: { adapter: { add_sd_cfg_limit: 2 } }, asks: asks({ guidance: 2 }) },
  add_sd_step_limit: { send: { add_sd_step_limit: 5 }, asks: asks({ steps: 5 }) },
  add_sd_cfg_limit: { send: { add_sd_cfg_limit: 2 }, asks: asks({ guidance: 2 }) },
  keepalive: { send: { keepalive: true }, tells: /"keepalive":true/, refuses: [{ keepalive: 'maybe' }] },
  send_images: { send: { send_images: false }, tells: /"images":\[\]/ },
  include_init_images: { send: { include_init_images: true }, beside: init, tells: /"init_images":\["/ },
};

const upscaleProofs: Record<string, Proof> = {
  upscaling_resize: { send: { upscaling_resize: 3 }, asks: asks({ width: 48 }), refuses: [{ upscaling_resize: -1 }] },
  resize_mode: {
    send: { resize_mode: 1 },
    beside: { upscaling_resize_w: 40, upscaling_resize_h: 40 },
    asks: asks({ width: 40 }),
  },
  upscaling_resize_w: {
    send: { upscaling_resize_w: 40 },
    beside: { resize_mode: 1, upscaling_resize_h: 8 },
    asks: asks({ width: 40 }),
  },
  upscaling_resize_h: {
    send: { upscaling_resize_h: 40 },
    beside: { resize_mode: 1, upscaling_resize_w: 8 },
    asks: asks({ height: 40 }),
  },
  upscaling_crop: {
    send: { upscaling_crop: false },
    beside: { resize_mode: 1, upscaling_resize_w: 40, upscaling_resize_h: 20 },
    tells: /to 40x40/,
  },
  upscaler_1: { send: { upscaler_1: 'None' }, asks: asks({ upscaler: 'None' }), refuses: [{ upscaler_1: 5 }] },
  genkey: { send: { genkey: 'mine' }, asks: { requestContext: { genkey: 'mine' } } },
};

const plans: readonly {
  readonly path: string;
  readonly base: JsonObject;
  readonly proofs: Record<string, Proof>;
  readonly silent?: true;
}[] = [
  { path: 'txt2img', base: {}, proofs: drawProofs },
  {
    path: 'extra-single-image',
    base: { image: picture },
    proofs: {
      ...upscaleProofs,
      image: { send: { image: other }, tells: /24x8/, refuses: [{ image: 'x' }, { image: null }] },
    },
  },
  {
    path: 'extra-batch-images',
    base: { image_list: [{ image: picture }] },
    proofs: {
      ...upscaleProofs,
      imageList: { send: { imageList: [{ data: other }] }, tells: /24x8/, refuses: [{ imageList: [{}] }] },
      image_list: { send: { image_list: [{ data: other }] }, tells: /24x8/, refuses: [{ image_list: 'x' }] },
    },
  },
  {
    path: 'interrogate',
    base: { image: picture },
    proofs: {
      image: {
        send: { image: other },
        asks: {
          request: {
            read: { messages: [{ content: [{ image_url: { url: `data:image/png;base64,${other}` } }, {}] }] },
          },
        },
        refuses: [{ image: 'x' }],
      },
      genkey: { send: { genkey: 'mine' }, asks: { requestContext: { genkey: 'mine' } } },
    },
  },
  {
    path: 'png-info',
    base: { image: picture },
    proofs: { image: { send: { image: other }, same: true, refuses: [{ image: 'x' }] } },
    silent: true,
  },
  {
    path: 'options',
    base: {},
    proofs: {
      sd_model_checkpoint: {
        send: { sd_model_checkpoint: 'sketch' },
        same: true,
        refuses: [{ sd_model_checkpoint: 'dreamy' }],
      },
    },
    silent: true,
  },
];

const tables = fieldTables(sdapiWorld(undefined).rows);

for (const [index, { path, base, proofs, silent }] of plans.entries()) {
  proveFidelity({
    table: tables[index] as EndpointFidelity,
    base,
    ask: asking(world, 'POST', `/sdapi/v1/${path}`),
    proofs,
    refusal: (reply) =>
      expect(reply).toMatchObject({
        error: 'HTTPException',
        detail: { msg: expect.any(String), type: expect.any(String) },
      }),
    ...(silent ? { silent } : {}),
  });
}
