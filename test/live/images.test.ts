import { setTimeout as wait } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
/** Few, as it is the way of a picture that is shown and not its beauty. */
const quick = { steps: 2, cfg_scale: 1 };

let server: LiveServer;
let openai: OpenAI;
beforeAll(async () => {
  server = await startServer();
  openai = new OpenAI({ baseURL: `${server.base}/v1`, apiKey: 'none', maxRetries: 0 });
});

// biome-ignore lint/suspicious/noExplicitAny: as a client without types sees it.
type Answer = any;

async function post(path: string, body: object): Promise<Answer> {
  const reply = await fetch(`${server.base}${path}`, { method: 'POST', body: JSON.stringify(body) });
  expect(reply.status, path).toBe(200);
  return reply.json();
}
const get = async (path: string): Promise<Answer> => (await fetch(`${server.base}${path}`)).json();

const sizeOf = async (base64: string) => {
  const { width, height, format } = await sharp(Buffer.from(base64, 'base64')).metadata();
  return { width, height, format };
};
const red = () => sharp({ create: { width: 128, height: 128, channels: 4, background: '#d02020' } });

describe('OpenAI SDK: images', () => {
  test('draws', async () => {
    const { data, size } = await openai.images.generate({
      model: 'gpt-image-1',
      prompt: 'a red heart',
      n: 2,
      size: '256x256',
      ...quick,
    });
    expect(size).toBe('256x256');
    expect(data).toHaveLength(2);
    expect(await sizeOf(data?.[0]?.b64_json ?? '')).toEqual({ width: 256, height: 256, format: 'png' });
  });

  test('same seed: gives the same image in another format', async () => {
    const generate = async () => {
      const extra = { seed: 5, ...quick, size: '128x128', output_format: 'webp' } as unknown as { size: '256x256' };
      return (await openai.images.generate({ prompt: 'a star', ...extra })).data?.[0]?.b64_json ?? '';
    };
    const first = await generate();
    expect(await sizeOf(first)).toEqual({ width: 128, height: 128, format: 'webp' });
    expect(await generate()).toBe(first);
  });

  test('edits: change only the open part of the mask', async () => {
    const hole = sharp({ create: { width: 64, height: 128, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 1 } } });
    const mask = await sharp({
      create: { width: 128, height: 128, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
    })
      .composite([{ input: await hole.png().toBuffer(), left: 0, top: 0 }])
      .png()
      .toBuffer();
    const { data } = await openai.images.edit({
      image: await toFile(await red().png().toBuffer(), 'red.png', { type: 'image/png' }),
      mask: await toFile(mask, 'mask.png', { type: 'image/png' }),
      prompt: 'a blue circle',
      ...quick,
    });
    const image = sharp(Buffer.from(data?.[0]?.b64_json ?? '', 'base64'));
    const left = await image.extract({ left: 4, top: 4, width: 40, height: 120 }).toBuffer();
    const { channels } = await sharp(left).stats();
    expect(channels.slice(0, 3).map(({ mean }) => Math.round(mean / 16))).toEqual([13, 2, 2]);
  });

  test('stream: sends partial images', async () => {
    const stream = await openai.images.generate({ prompt: 'a tree', size: '256x256', stream: true, ...quick });
    const types: string[] = [];
    for await (const event of stream) types.push(event.type);
    expect(types).toEqual(['image_generation.completed']);
  });

  test('gets an error for an invalid request', async () => {
    await expect(openai.images.generate({ prompt: 'a', size: 'huge' as '256x256' })).rejects.toMatchObject({
      status: 400,
      param: 'size',
    });
  });
});

describe('Stable Diffusion web UI client', () => {
  test('lists the model that it generates with', async () => {
    const [{ title, model_name: name }] = await get('/sdapi/v1/sd-models');
    expect((await get('/sdapi/v1/options')).sd_model_checkpoint).toBe(title);
    expect((await get('/sdapi/v1/samplers')).length).toBeGreaterThan(0);
    const sampler = (await get('/sdapi/v1/samplers'))[0].name;
    const { images, info } = await post('/sdapi/v1/txt2img', {
      prompt: 'a yellow sun',
      ...quick,
      width: 96,
      height: 64,
      sampler_name: sampler,
      seed: 9,
      batch_size: 2,
    });
    expect(await Promise.all(images.map(sizeOf))).toEqual([0, 1].map(() => ({ width: 96, height: 64, format: 'png' })));
    expect(JSON.parse(info)).toMatchObject({ all_seeds: [9, 10], sd_model_name: name, sampler_name: sampler });
    const { parameters } = await post('/sdapi/v1/png-info', { image: images[1] });
    expect(parameters).toMatchObject({ Prompt: 'a yellow sun', Seed: '10', Model: name, 'Size-1': '96' });
  });

  test('skip: continues with the next image', async () => {
    const key = { genkey: 'skipped' };
    const size = { width: 64, height: 64, cfg_scale: 1 };
    const answer = post('/sdapi/v1/txt2img', { prompt: 'a star', steps: 8, seed: 30, batch_size: 2, ...size, ...key });
    // Every dialect tells how far it is by the key of the request.
    while ((await get('/sdapi/v1/progress?genkey=skipped')).state.sampling_step === 0) await wait(10);
    await post('/sdapi/v1/skip', {});
    expect(JSON.parse((await answer).info).all_seeds).toEqual([31]);
  });

  test('img2img and upscaling', async () => {
    const image = (await red().png().toBuffer()).toString('base64');
    const changed = await post('/sdapi/v1/img2img', {
      prompt: 'a tree',
      init_images: [image],
      denoising_strength: 0.4,
      cfg_scale: 1,
      steps: 3,
      width: 128,
      height: 128,
    });
    expect(await sizeOf(changed.images[0])).toMatchObject({ width: 128, height: 128 });
    const larger = await post('/sdapi/v1/extra-single-image', { image, upscaling_resize: 2 });
    expect(await sizeOf(larger.image)).toMatchObject({ width: 256, height: 256 });
  });

  test('progress and interrupt', async () => {
    const drawing = post('/sdapi/v1/txt2img', {
      prompt: 'a house',
      steps: 80,
      width: 1024,
      height: 1024,
      batch_size: 10,
      genkey: 'mine',
    });
    const running = async (): Promise<Answer> => {
      for (;;) {
        const progress = await get('/sdapi/v1/progress?genkey=mine');
        if (progress.state.job_count > 0) return progress;
        await wait(10);
      }
    };
    expect((await running()).progress).toBeGreaterThan(0);
    expect((await get('/sdapi/v1/progress?genkey=theirs')).state.job_count).toBe(0);
    await post('/sdapi/v1/interrupt', {});
    expect((await drawing).images.length).toBeLessThan(10);
    await expect.poll(async () => (await get('/sdapi/v1/progress')).progress).toBe(0);
  });
});

describe('ComfyUI client', () => {
  const graph = (text: string) => ({
    '3': {
      class_type: 'KSampler',
      inputs: {
        seed: 5,
        steps: 2,
        cfg: 1,
        sampler_name: 'euler',
        scheduler: 'normal',
        denoise: 1,
        model: ['4', 0],
        positive: ['6', 0],
        negative: ['7', 0],
        latent_image: ['5', 0],
      },
    },
    '4': { class_type: 'CheckpointLoaderSimple', inputs: { ckpt_name: 'model.safetensors' } },
    '5': { class_type: 'EmptyLatentImage', inputs: { width: 256, height: 128, batch_size: 1 } },
    '6': { class_type: 'CLIPTextEncode', inputs: { text, clip: ['4', 1] } },
    '7': { class_type: 'CLIPTextEncode', inputs: { text: '', clip: ['4', 1] } },
    '8': { class_type: 'VAEDecode', inputs: { samples: ['3', 0], vae: ['4', 2] } },
    '9': { class_type: 'SaveImage', inputs: { images: ['8', 0], filename_prefix: 'live' } },
  });

  test('prompt: reports execution on the WebSocket, and the image can be fetched', async () => {
    const socket = new WebSocket(`${server.base.replace(/^http/, 'ws')}/ws?clientId=me`);
    const types: string[] = [];
    let id = '';
    const over = new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('message', (message) => {
        const { type, data } = JSON.parse(String(message));
        types.push(type);
        if (type === 'executing' && data.node === null && data.prompt_id === id) resolve();
      });
    });
    await new Promise((resolve) => socket.once('open', resolve));
    ({ prompt_id: id } = await post('/prompt', { prompt: graph('a green leaf'), client_id: 'me' }));
    await over;
    socket.terminate();
    const eventTypes = [
      'execution_start',
      'execution_cached',
      'executing',
      'progress',
      'executed',
      'execution_success',
    ];
    expect(eventTypes.map((type) => types.indexOf(type))).toEqual(
      [...eventTypes.map((type) => types.indexOf(type))].sort((a, b) => a - b),
    );
    expect(types).toEqual(expect.arrayContaining(eventTypes));
    const entry = (await get(`/history/${id}`))[id];
    expect(entry.status.completed).toBe(true);
    const { filename } = entry.outputs['9'].images[0];
    const image = await fetch(`${server.base}/view?filename=${filename}`);
    expect(await sharp(await image.arrayBuffer()).metadata()).toMatchObject({
      width: 256,
      height: 128,
      format: 'png',
    });
  });

  test('upload: an uploaded image is used by LoadImage', async () => {
    const form = new FormData();
    form.append('image', new Blob([new Uint8Array(await red().png().toBuffer())]), 'red.png');
    form.append('overwrite', 'true');
    const uploaded = await (await fetch(`${server.base}/api/upload/image`, { method: 'POST', body: form })).json();
    expect(uploaded).toEqual({ name: 'red.png', subfolder: '', type: 'input' });
    const changed = {
      ...graph('a tree'),
      '5': { class_type: 'VAEEncode', inputs: { pixels: ['10', 0], vae: ['4', 2] } },
      '10': { class_type: 'LoadImage', inputs: { image: 'red.png' } },
    };
    const { prompt_id: id } = await post('/api/prompt', { prompt: changed });
    for (;;) {
      const entry = (await get(`/api/history/${id}`))[id];
      if (entry) {
        expect(entry.status).toMatchObject({ status_str: 'success', completed: true });
        break;
      }
      await wait(10);
    }
  });
});
