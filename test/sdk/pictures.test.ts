import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BasePipe, Client } from '@stable-canvas/comfyui-client';
import { ComfyUIClient, type Prompt } from 'comfy-ui-client';
// @ts-expect-error: its package hides its types.
import sdwebui, { SamplingMethod } from 'node-sd-webui';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type LiveServer, liveServers } from '../live/server.ts';

/** Public clients of image programs, as they come from the registry, against a server with the built-in model. */
const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-clients-'));
afterAll(() => rmSync(folder, { recursive: true }));

let server: LiveServer;
beforeAll(async () => {
  server = await startServer(['--threads', '2']);
});

/** As small as it gets: it is the way of a picture that is shown here and not its beauty. */
const side = 64;
const steps = 2;
const facts = async (bytes: Uint8Array) => {
  const { width, height, format } = await sharp(bytes).metadata();
  return [format, width, height];
};
const decoded = (base64: string) => facts(Buffer.from(base64, 'base64'));
const red = () => sharp({ create: { width: side, height: side, channels: 3, background: '#d02020' } }).png();

function graph(more: Prompt = {}): Prompt {
  const sampler = { sampler_name: 'euler', scheduler: 'normal', cfg: 1, denoise: 1 };
  const links = { model: ['4', 0], positive: ['6', 0], negative: ['7', 0], latent_image: ['5', 0] };
  return {
    '3': { class_type: 'KSampler', inputs: { seed: 5, steps, ...sampler, ...links } },
    '4': { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'v1-5-pruned-emaonly.ckpt' } },
    '5': { class_type: 'EmptyLatentImage', inputs: { batch_size: 1, width: side, height: side } },
    '6': { class_type: 'CLIPTextEncode', inputs: { clip: ['4', 1], text: 'a red heart' } },
    '7': { class_type: 'CLIPTextEncode', inputs: { clip: ['4', 1], text: '' } },
    '8': { class_type: 'VAEDecode', inputs: { samples: ['3', 0], vae: ['4', 2] } },
    '9': { class_type: 'SaveImage', inputs: { filename_prefix: 'client', images: ['8', 0] } },
    ...more,
  };
}

describe('node-sd-webui', () => {
  const client = () => sdwebui({ apiUrl: server.base });

  test('txt2img, png-info and hires upscaling', async () => {
    const { images, info } = await client().txt2img({
      prompt: 'a red heart',
      negativePrompt: 'blue',
      samplingMethod: SamplingMethod.Euler,
      width: side,
      height: side,
      steps,
      seed: 7,
      batchSize: 2,
      cfgScale: 1,
    });
    expect(await Promise.all(images.map(decoded))).toEqual([
      ['png', side, side],
      ['png', side, side],
    ]);
    expect(JSON.parse(info).all_seeds).toEqual([7, 8]);
    expect(await client().pngInfo({ imageData: images[1] ?? '' })).toMatchObject({
      prompt: 'a red heart',
      negativePrompt: 'blue',
      steps,
      samplingMethod: 'Euler',
      cfgScale: 1,
      seed: 8,
      width: side,
      height: side,
    });
    const hires = { steps: 1, denoisingStrength: 0.5, upscaler: 'ESRGAN-slim 2x', upscaleBy: 2 };
    const larger = await client().txt2img({
      prompt: 'a red heart',
      width: side,
      height: side,
      steps: 1,
      cfgScale: 1,
      hires,
    });
    expect(await decoded(larger.images[0] ?? '')).toEqual(['png', 2 * side, 2 * side]);
  });

  test('img2img', async () => {
    const imageData = [(await red().toBuffer()).toString('base64')];
    const { images, parameters } = await client().img2img({
      prompt: 'a tree',
      imageData,
      width: side,
      height: side,
      steps,
      cfgScale: 1,
    });
    expect(await decoded(images[0] ?? '')).toEqual(['png', side, side]);
    expect(parameters).toMatchObject({ prompt: 'a tree', init_images: null });
  });

  test('gets an error for an invalid request', async () => {
    await expect(client().img2img({ prompt: 'a', imageData: ['bm8gcGljdHVyZQ=='] })).rejects.toThrow();
    await expect(client().pngInfo({ imageData: 'nothing' })).rejects.toThrow();
  });
});

describe('comfy-ui-client', () => {
  let client: ComfyUIClient;
  beforeAll(async () => {
    client = new ComfyUIClient(new URL(server.base).host, 'comfy-ui-client');
    await client.connect();
  });
  afterAll(() => client.disconnect());

  test('generates an image, finds it in the history, and saves it', async () => {
    const outputs = await client.getImages(graph());
    expect(Object.keys(outputs)).toEqual(['9']);
    await client.saveImages(outputs, folder);
    const [name = ''] = readdirSync(folder);
    expect(await facts(readFileSync(join(folder, name)))).toEqual(['png', side, side]);
    const history = await client.getHistory();
    expect(Object.values(history).at(-1)?.outputs['9'].images).toEqual([outputs['9']?.[0]?.image]);
    expect(await client.getQueue()).toEqual({ queue_running: [], queue_pending: [] });
  });

  test('inpainting: uploads an image with a mask, and the unmasked part is unchanged', async () => {
    expect(await client.uploadImage(await red().toBuffer(), 'red.png', true)).toEqual({
      name: 'red.png',
      subfolder: '',
      type: 'input',
    });
    // Transparent on the right: there it is painted anew.
    const closed = { create: { width: side / 2, height: side, channels: 4, background: '#000' } } as const;
    const mask = await sharp({ create: { width: side, height: side, channels: 4, background: '#0000' } })
      .composite([{ input: await sharp(closed).png().toBuffer(), left: 0, top: 0 }])
      .png()
      .toBuffer();
    const original = { filename: 'red.png', subfolder: '', type: 'input' };
    const { name } = await client.uploadMask(mask, 'masked.png', original, true);
    const outputs = await client.getImages(
      graph({
        '5': { class_type: 'VAEEncodeForInpaint', inputs: { pixels: ['10', 0], vae: ['4', 2], mask: ['10', 1] } },
        '10': { class_type: 'LoadImage', inputs: { image: name } },
      }),
    );
    const image = Buffer.from((await outputs['9']?.[0]?.blob.arrayBuffer()) ?? new ArrayBuffer());
    expect(await facts(image)).toEqual(['png', side, side]);
    const left = await sharp(image)
      .extract({ left: 2, top: 2, width: side / 2 - 6, height: side - 4 })
      .toBuffer();
    const { channels } = await sharp(left).stats();
    expect(channels.slice(0, 3).map(({ mean }) => Math.round(mean))).toEqual([0xd0, 0x20, 0x20]);
  });

  test('lists, an interrupt without effect, and an error for an invalid graph', async () => {
    expect(Object.keys(await client.getObjectInfo('KSampler'))).toEqual(['KSampler']);
    expect((await client.getSystemStats()).devices).toHaveLength(1);
    expect(await client.getPrompt()).toEqual({ exec_info: { queue_remaining: 0 } });
    await client.interrupt();
    const broken = graph({ '8': { class_type: 'Nobody', inputs: {} } });
    await expect(client.queuePrompt(broken)).rejects.toThrow('node Nobody does not exist');
  });
});

describe('@stable-canvas/comfyui-client', () => {
  let client: Client;
  beforeAll(async () => {
    client = new Client({ api_host: new URL(server.base).host, WebSocket: WebSocket as never, fetch });
    await client.connect();
  });
  afterAll(() => client.close());

  const generate = async (images: readonly { readonly data: ArrayBuffer | string }[]) =>
    Promise.all(
      images.map(async ({ data }) =>
        facts(new Uint8Array(typeof data === 'string' ? await (await fetch(data)).arrayBuffer() : data)),
      ),
    );

  test('txt2img and img2img over the WebSocket', async () => {
    const [model = ''] = await client.getSDModels();
    expect(model).toBe('parley-sketch (built-in)');
    const pipe = () => new BasePipe().with(client).model(model).prompt('a star').size(side, side).steps(steps).cfg(1);
    const { images } = await pipe().save().wait();
    expect(await generate(images)).toEqual([['png', side, side]]);
    const changed = await pipe()
      .image(await red().toBuffer())
      .denoise(0.5)
      .save()
      .wait();
    expect(await generate(changed.images)).toEqual([['png', side, side]]);
  });

  test('runs a graph and receives its progress', async () => {
    const steps: number[] = [];
    const { images, prompt_id: id } = await client.enqueue(graph(), { progress: ({ value }) => steps.push(value) });
    expect(await generate(images)).toEqual([['png', side, side]]);
    expect(steps).toEqual([1, 2]);
    expect((await client.getPromptStatus(id)).done).toBe(true);
  });

  test('polls without a WebSocket', async () => {
    const { images } = await client.enqueue_polling(graph());
    expect(await generate(images)).toEqual([['png', side, side]]);
  });
});
