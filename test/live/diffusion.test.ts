import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { beforeAll, describe, expect, test } from 'vitest';
import { findBarePack } from '../../src/engines/bare/pack.ts';
import { writeCheckpoint, writeLora } from '../models/checkpoint.ts';
import { type LiveServer, liveServers } from './server.ts';

/**
 * The real engine on an untrained checkpoint (2 GB, written by the test). Needs the diffusion pack, and minutes on a CPU.
 * `PARLEY_TEST_DIFFUSION=1 PARLEY_PACKS=FOLDER npx vitest run --project live test/live/diffusion.test.ts` runs it.
 */
process.env.PARLEY_PACKS = process.env.PARLEY_TEST_PACKS;
const reason = missingPart();
if (reason !== undefined) console.log(`The tests of stable-diffusion.cpp are skipped: ${reason}`);

const startServer = liveServers();
const patient = 600_000;
const request = { prompt: 'a boat', steps: 1, cfg_scale: 1, seed: 5, width: 64, height: 64 };

// biome-ignore lint/suspicious/noExplicitAny: as a client without types sees it.
type Answer = any;

describe.skipIf(reason !== undefined)('stable-diffusion.cpp', () => {
  let server: LiveServer;
  let plain: Answer;
  beforeAll(async () => {
    const folder = process.env.PARLEY_TEST_DIFFUSION_FOLDER ?? join(tmpdir(), 'parley-diffusion');
    const [model, loras] = [join(folder, 'random-sd15.safetensors'), join(folder, 'loras')];
    mkdirSync(loras, { recursive: true });
    if (!existsSync(model)) writeCheckpoint(model);
    writeLora(join(loras, 'strong.safetensors'));
    server = await startServer(['--nomodel', '--threads', '2', '--sdmodel', model, '--sdlora', loras]);
    plain = await generate('txt2img', request);
  }, patient);

  async function generate(path: string, body: object): Promise<Answer> {
    const reply = await fetch(`${server.base}/sdapi/v1/${path}`, { method: 'POST', body: JSON.stringify(body) });
    expect(reply.status).toBe(200);
    return reply.json();
  }
  const get = async (path: string): Promise<Answer> => (await fetch(`${server.base}/sdapi/v1/${path}`)).json();
  const pixelsOf = (base64: string) => sharp(Buffer.from(base64, 'base64')).removeAlpha().raw().toBuffer();
  const flat = (background: string, width = 64) =>
    sharp({ create: { width, height: 64, channels: 3, background } }).png();

  test('lists model, samplers, LoRAs and upscalers', async () => {
    expect((await get('sd-models'))[0].model_name).toBe('random-sd15');
    expect((await get('samplers')).map(({ name }: { name: string }) => name)).toContain('DPM++ 2M');
    expect((await get('loras')).map(({ name }: { name: string }) => name)).toEqual(['strong']);
  });

  test('draws in the requested size, and info says how', async () => {
    expect(await sharp(Buffer.from(plain.images[0], 'base64')).metadata()).toMatchObject({ width: 64, height: 64 });
    expect(JSON.parse(plain.info)).toMatchObject({ seed: 5, steps: 1, sampler_name: 'Euler a', notes: [] });
  });

  test(
    'LoRA: changes the image; weights other than 1 are refused',
    async () => {
      const changed = await generate('txt2img', { ...request, prompt: 'a boat <lora:strong:1>' });
      expect((await pixelsOf(changed.images[0])).equals(await pixelsOf(plain.images[0]))).toBe(false);
      const body = JSON.stringify({ ...request, prompt: 'a boat <lora:strong:0.5>' });
      const refused = await fetch(`${server.base}/sdapi/v1/txt2img`, { method: 'POST', body });
      expect([refused.status, await refused.text()]).toEqual([400, expect.stringContaining('weight 0.5')]);
    },
    patient,
  );

  test(
    'mask: changes the white part only, and notes say how',
    async () => {
      const half = { input: await flat('#fff', 32).toBuffer(), left: 32, top: 0 };
      const mask = (await flat('#000').composite([half]).toBuffer()).toString('base64');
      const initial = (await flat('#2060c0').toBuffer()).toString('base64');
      const body = { ...request, steps: 2, denoising_strength: 0.5, init_images: [initial], mask };
      const { images, info } = await generate('img2img', body);
      const pixels = await pixelsOf(images[0]);
      expect([...pixels.subarray(0, 3)]).toEqual([0x20, 0x60, 0xc0]);
      expect([...pixels.subarray(60 * 3, 60 * 3 + 3)]).not.toEqual([0x20, 0x60, 0xc0]);
      expect(JSON.parse(info)).toMatchObject({ steps: 1, notes: [expect.stringContaining('no mask of its own')] });
    },
    patient,
  );

  test(
    'progress, interrupt, and the same image afterwards',
    async () => {
      const long = generate('txt2img', { ...request, steps: 60 });
      const step = async () => (await get('progress')).state.sampling_step as number;
      await expect.poll(step, { timeout: patient / 2, interval: 500 }).toBeGreaterThan(0);
      await generate('interrupt', {});
      expect((await long).images).toEqual([]);
      const again = await generate('txt2img', request);
      expect((await pixelsOf(again.images[0])).equals(await pixelsOf(plain.images[0]))).toBe(true);
    },
    patient,
  );
});

function missingPart(): string | undefined {
  if (!process.env.PARLEY_TEST_DIFFUSION) return 'PARLEY_TEST_DIFFUSION is not set';
  try {
    findBarePack('diffusion');
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
