import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();

// biome-ignore lint/suspicious/noExplicitAny: as a client without types sees it.
type Answer = any;

const request = { prompt: 'a red heart', steps: 1, cfg_scale: 2.5, seed: 7, width: 64, height: 64 };

let drawing: LiveServer;
let own: Answer;
beforeAll(async () => {
  drawing = await startServer(['--nomodel']);
  own = (await post(drawing, '/sdapi/v1/txt2img', { ...request, batch_size: 2 })).json;
});

const remote = (kind: string) => startServer(['--nomodel', '--sdremote', drawing.base, `kind=${kind}`]);

async function post({ base }: LiveServer, path: string, body: object): Promise<{ status: number; json: Answer }> {
  const reply = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return { status: reply.status, json: await reply.json() };
}
const get = async ({ base }: LiveServer, path: string): Promise<Answer> => (await fetch(`${base}${path}`)).json();
const pixelsOf = (base64: string) => sharp(Buffer.from(base64, 'base64')).removeAlpha().raw().toBuffer();
const plain = (background: string, width = 64) =>
  sharp({ create: { width, height: 64, channels: 3, background } }).png();
const difference = (one: Buffer, other: Buffer) =>
  one.reduce((sum, value, index) => sum + Math.abs(value - (other[index] ?? 0)), 0) / one.length;

describe.each(['a1111', 'comfy'])('--sdremote with kind=%s', (kind) => {
  let server: LiveServer;
  beforeAll(async () => {
    server = await remote(kind);
  });

  test('lists model, samplers and upscalers of the backend', async () => {
    await server.says('): parley-sketch (built-in)');
    const [model] = await get(server, '/sdapi/v1/sd-models');
    expect(model.model_name).toBe('parley-sketch (built-in)');
    const names = (list: { name: string }[]) => list.map(({ name }) => name);
    expect(names(await get(server, '/sdapi/v1/samplers'))).toContain('Heun');
    expect(names(await get(server, '/sdapi/v1/upscalers'))).toContain('ESRGAN-slim 2x');
  });

  test('gives the images of the backend, one per seed', async () => {
    const { json } = await post(server, '/sdapi/v1/txt2img', { ...request, batch_size: 2 });
    expect(JSON.parse(json.info).all_seeds).toEqual([7, 8]);
    const [lent, same] = await Promise.all([json, own].map(({ images }) => Promise.all(images.map(pixelsOf))));
    expect(difference(lent?.[0], same?.[0])).toBeLessThan(1);
    expect(difference(lent?.[1], same?.[1])).toBeLessThan(1);
    expect(difference(lent?.[0], lent?.[1])).toBeGreaterThan(1);
  });

  test('mask: changes the white part only', async () => {
    const half = { input: await plain('#fff', 32).toBuffer(), left: 32, top: 0 };
    const mask = await plain('#000').composite([half]).toBuffer();
    const initial = (await plain('#2060c0').toBuffer()).toString('base64');
    const body = {
      ...request,
      steps: 2,
      init_images: [initial],
      mask: mask.toString('base64'),
      denoising_strength: 0.9,
    };
    const { json } = await post(server, '/sdapi/v1/img2img', body);
    const pixels = await pixelsOf(json.images[0]);
    expect([...pixels.subarray(0, 3)]).toEqual([0x20, 0x60, 0xc0]);
    expect([...pixels.subarray(60 * 3, 60 * 3 + 3)]).not.toEqual([0x20, 0x60, 0xc0]);
  });

  test('upscales', async () => {
    const image = (await plain('#2060c0').toBuffer()).toString('base64');
    const { json } = await post(server, '/sdapi/v1/extra-single-image', { image, upscaler_1: 'ESRGAN-slim 2x' });
    expect(await sharp(Buffer.from(json.image, 'base64')).metadata()).toMatchObject({ width: 128, height: 128 });
  });

  test('interrupt: also stops the backend', async () => {
    const long = post(server, '/sdapi/v1/txt2img', { ...request, steps: 80, batch_size: 4 });
    const steps = async ({ base }: LiveServer) =>
      ((await get({ base } as LiveServer, '/sdapi/v1/progress')) as Answer).state.sampling_step as number;
    await expect.poll(() => steps(server)).toBeGreaterThan(0);
    await post(server, '/sdapi/v1/interrupt', {});
    expect((await long).json.images.length).toBeLessThan(4);
    await expect.poll(() => steps(drawing)).toBe(0);
  });
});

test('--sdremote: an unreachable backend gives 503, and other requests are served', async () => {
  const server = await startServer(['--nomodel', '--sdremote', 'http://127.0.0.1:9']);
  await server.says('The remote backend at 127.0.0.1:9 is not reachable: connection refused');
  const { status, json } = await post(server, '/sdapi/v1/txt2img', request);
  expect(status).toBe(503);
  expect(json.detail.msg).toBe('The remote backend at http://127.0.0.1:9 is not reachable: connection refused.');
  expect((await post(server, '/v1/images/generations', { prompt: 'x' })).json.error.message).toContain(
    'is not reachable',
  );
  expect((await fetch(`${server.base}/api/extra/version`)).status).toBe(200);
});

test('--sdmodel without the pack: 503 with the install command, and other requests are served', async () => {
  const server = await startServer(['--nomodel', '--sdmodel', 'package.json']);
  await server.says('parley pack add diffusion');
  const { status, json } = await post(server, '/sdapi/v1/txt2img', request);
  expect(status).toBe(503);
  expect(json.detail.msg).toContain('parley pack add diffusion');
});
