import { expect } from 'vitest';
import type { JsonObject } from '../../../http/body.ts';
import { encodedAs } from '../../images/sent-image.ts';
import { bindAll } from '../../testing/bind.ts';
import { asking, type Proof, proveFidelity, tableOf } from '../../testing/fidelity-proof.ts';
import { base64Of, fakeImage, inProcessEditor, pictureParts, pngOf } from '../../testing/pictures.ts';
import { imagesEndpoints } from './endpoints.ts';

function world() {
  const fake = fakeImage({ facts: { loras: [{ name: 'film', file: 'film.safetensors' }] } });
  return { endpoints: bindAll(imagesEndpoints(pictureParts(fake)), pictureParts(fake)), asked: fake.asked };
}

const picture = base64Of(pngOf(64, 64));
const wide = base64Of(pngOf(128, 64));
const escaped = (text: string): string => text.replaceAll(/[+/]/g, '[$&]');
const asks = (request: object): object => ({ request });

const answerProofs: Readonly<Record<string, Proof>> = {
  model: { send: { model: 'dall-e-3' }, same: true },
  n: { send: { n: '2' }, asks: asks({ count: 2 }), refuses: [{ n: 0 }] },
  size: { send: { size: '128x192' }, asks: asks({ width: 128, height: 192 }), refuses: [{ size: 'big' }] },
  response_format: { send: { response_format: 'url' }, tells: /"url":"data:/, refuses: [{ response_format: 'x' }] },
  negative_prompt: { send: { negative_prompt: 'fog' }, asks: asks({ negativePrompt: 'fog' }) },
  steps: { send: { steps: 7 }, asks: asks({ steps: 7 }) },
  cfg_scale: { send: { cfg_scale: 3.5 }, asks: asks({ guidance: 3.5 }) },
  seed: { send: { seed: 12 }, asks: asks({ seed: 12 }) },
  sampler_name: { send: { sampler_name: 'Euler a' }, asks: asks({ sampler: 'euler_a' }) },
  scheduler: { send: { scheduler: 'karras' }, asks: asks({ scheduler: 'karras' }) },
  denoising_strength: { send: { denoising_strength: 0.25 }, asks: asks({ strength: 0.25 }) },
  clip_skip: { send: { clip_skip: 2 }, asks: asks({ clipSkip: 2 }) },
  lora: {
    send: { lora: [{ path: 'film.safetensors', multiplier: 0.5 }, { name: 'nothing' }] },
    asks: asks({ loras: [{ name: 'film.safetensors', weight: 0.5 }] }),
    refuses: [{ lora: 5 }, { lora: [5] }],
  },
  genkey: { send: { genkey: 'K' }, asks: { requestContext: { genkey: 'K' } } },
  kcpp_extra_args: {
    send: { kcpp_extra_args: { keep_image_gen_on_disconnect: true } },
    same: true,
    refuses: [{ kcpp_extra_args: 5 }],
  },
  keep_image_gen_on_disconnect: {
    send: { keep_image_gen_on_disconnect: true },
    same: true,
    refuses: [{ keep_image_gen_on_disconnect: 'maybe' }],
  },
};

const shapeProofs: Readonly<Record<string, Proof>> = {
  output_format: {
    send: { output_format: 'jpeg' },
    tells: /"output_format":"jpeg"/,
    refuses: [{ output_format: 'gif' }],
  },
  output_compression: {
    send: { output_compression: 1 },
    beside: { output_format: 'jpeg', size: '64x64' },
    tells: new RegExp(escaped(base64Of(await encodedAs(inProcessEditor, pngOf(64, 64), 'jpeg', 1)))),
  },
  stream: { send: { stream: true }, tells: /event: image_\w+\.completed/ },
  partial_images: {
    send: { partial_images: 2 },
    beside: { stream: true, steps: 4 },
    tells: /partial_image_index":1/,
    refuses: [{ partial_images: 4 }],
  },
};

/** Without a picture its size counts. */
const sideProofs: Readonly<Record<string, Proof>> = {
  width: { send: { width: 128 }, asks: asks({ width: 128 }) },
  height: { send: { height: 128 }, asks: asks({ height: 128 }) },
};
const idleSides: Readonly<Record<string, Proof>> = {
  width: { send: { width: 128 }, same: true },
  height: { send: { height: 128 }, same: true },
};

const prompt: Proof = { send: { prompt: 'a boat' }, asks: asks({ prompt: 'a boat' }), refuses: [{ prompt: '' }] };
const image: Proof = { send: { image: wide }, asks: asks({ width: 128, height: 64 }), refuses: [{ image: 'x' }] };
const refusal = (reply: unknown): void =>
  expect(reply).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } });

const plans = [
  {
    path: 'generations',
    base: { prompt: 'a' },
    proofs: { prompt, ...answerProofs, ...sideProofs, ...shapeProofs },
  },
  {
    path: 'edits',
    base: { prompt: 'a', image: picture },
    proofs: {
      prompt,
      image,
      images: {
        send: { image: null, images: [{ image_url: wide }] },
        asks: asks({ width: 128 }),
        refuses: [{ images: [{}] }],
      },
      'images[].file_id': { send: { images: [{ file_id: 'x' }] } },
      mask: {
        send: { mask: base64Of(pngOf(64, 64, [0, 0, 0, 0])) },
        asks: asks({ strength: 1, mask: expect.anything() }),
        refuses: [{ mask: wide }],
      },
      ...answerProofs,
      ...idleSides,
      ...shapeProofs,
    },
  },
  {
    path: 'variations',
    base: { image: picture },
    proofs: { image, ...answerProofs, ...idleSides },
  },
] satisfies readonly {
  readonly base: JsonObject;
  readonly proofs: Readonly<Record<string, Proof>>;
  readonly [more: string]: unknown;
}[];

const rows = imagesEndpoints(pictureParts(fakeImage()));
for (const { path, base, proofs } of plans) {
  const table = tableOf(rows, `POST /v1/images/${path}`);
  proveFidelity({ table, base, ask: asking(world, 'POST', `/v1/images/${path}`), proofs, refusal });
}
