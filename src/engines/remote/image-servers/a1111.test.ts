import { describe, expect, test } from 'vitest';
import type { ImageRequest } from '../../../core/image.ts';
import { imageRequest } from '../../image/testing/request.ts';
import { a1111Server } from './a1111.ts';
import { fakeConnection } from './testing/fake-connection.ts';

const never = new AbortController().signal;
const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
const base64 = (...bytes: number[]) => Buffer.from(bytes).toString('base64');

function generate(
  server: ReturnType<typeof a1111Server>,
  changes: Partial<ImageRequest> = {},
  progress: (step: number, steps: number, preview?: Uint8Array) => void = () => {},
) {
  return server.generate(imageRequest(changes), never, progress);
}

/** Nobody looks at the progress. */
const unseen = () => new Promise<void>((_, reject) => setImmediate(() => reject(new Error())));
const answered = (images: string[], seeds?: number[]) => ({
  images,
  info: JSON.stringify(seeds ? { all_seeds: seeds } : {}),
});

describe('a1111Server.facts', () => {
  test('reads the lists', async () => {
    const { connection } = fakeConnection({
      '/sdapi/v1/options': () => ({ sd_model_checkpoint: 'dream [abc]' }),
      '/sdapi/v1/sd-models': () => [
        { title: 'other', model_name: 'other' },
        { title: 'dream [abc]', model_name: 'dream', filename: '/m/dream.ckpt', sha256: 'ab'.repeat(32) },
      ],
      '/sdapi/v1/samplers': () => [{ name: 'Euler' }, { name: 5 }, 'x'],
      '/sdapi/v1/schedulers': () => [{ name: 'karras', label: 'Karras' }],
      '/sdapi/v1/upscalers': () => [{ name: 'None', scale: 1 }, { name: 'Odd' }],
      '/sdapi/v1/loras': () => [{ name: 'film', path: 'C:\\l\\film.gguf' }],
    });
    expect(await a1111Server(connection, unseen).facts()).toMatchObject({
      name: 'dream',
      title: 'dream [abc]',
      path: '/m/dream.ckpt',
      sha256: 'ab'.repeat(32),
      samplers: ['Euler'],
      schedulers: ['karras'],
      upscalers: [
        { name: 'None', scale: 1 },
        { name: 'Odd', scale: 4 },
      ],
      loras: [{ name: 'film', file: 'film.gguf' }],
    });
  });

  test('has defaults without lists, and ignores a hash of eights', async () => {
    const { connection } = fakeConnection({
      '/sdapi/v1/sd-models': () => [{ title: 'kobold', sha256: '8'.repeat(64) }],
    });
    const facts = await a1111Server(connection, unseen).facts();
    expect(facts).toMatchObject({ name: 'kobold', samplers: ['Euler a'], schedulers: ['automatic'], upscalers: [] });
    expect(facts.sha256).toBeUndefined();
    expect((await a1111Server(fakeConnection({}).connection, unseen).facts()).name).toBe('remote');
  });
});

describe('a1111Server.draw', () => {
  test('uses txt2img or img2img', async () => {
    const { connection, bodies } = fakeConnection({
      '/sdapi/v1/txt2img': () => answered([base64(1)]),
      '/sdapi/v1/img2img': () => answered([base64(2)]),
    });
    const server = a1111Server(connection, unseen);
    await generate(server, { prompt: 'a boat', count: 3, clipSkip: 2, loras: [{ name: 'film', weight: 0.5 }] });
    expect(bodies('/sdapi/v1/txt2img')[0]).toMatchObject({
      prompt: 'a boat <lora:film:0.5>',
      batch_size: 1,
      n_iter: 1,
      clip_skip: 2,
      override_settings: { CLIP_stop_at_last_layers: 2 },
    });
    await generate(server, { initial: Uint8Array.of(7), mask: Uint8Array.of(8), strength: 0.4 });
    expect(bodies('/sdapi/v1/img2img')[0]).toMatchObject({
      init_images: [base64(7)],
      mask: base64(8),
      denoising_strength: 0.4,
    });
  });

  test('the tag of a LoRA has its name, also if the request has its file', async () => {
    const { connection, bodies } = fakeConnection({
      '/sdapi/v1/loras': () => [{ name: 'film', path: '/l/film.safetensors' }],
      '/sdapi/v1/txt2img': () => answered([base64(1)]),
    });
    const server = a1111Server(connection, unseen);
    await server.facts();
    await generate(server, { prompt: 'a boat', loras: [{ name: 'film.safetensors', weight: 1 }] });
    expect(bodies('/sdapi/v1/txt2img')[0]).toMatchObject({ prompt: 'a boat <lora:film:1>' });
  });

  test('returns the picture with the reported or requested seed', async () => {
    const give = async (answer: object) => {
      const { connection } = fakeConnection({ '/sdapi/v1/txt2img': () => answer });
      const { bytes, seed } = await generate(a1111Server(connection, unseen), { seed: 5 });
      return [bytes[0], seed];
    };
    expect(await give(answered([`data:image/png;base64,${base64(2)}`], [8]))).toEqual([2, 8]);
    expect(await give({ images: [base64(1)], info: 'no JSON' })).toEqual([1, 5]);
    expect(await give(answered(['', base64(3)]))).toEqual([3, 5]);
    for (const nothing of [{ images: ['', null] }, { images: 'x' }, {}, null]) {
      await expect(give(nothing as object)).rejects.toThrow('gave no picture');
    }
  });

  test('reports each step once, with a preview if requested', async () => {
    const steps: unknown[] = [];
    const seen = [0, 1, 1, 2].map((sampling_step) => ({
      state: { sampling_step, sampling_steps: 2, job_no: 0 },
      current_image: base64(4),
    }));
    let finish: (answer: object) => void = () => {};
    const { connection, asked } = fakeConnection({
      '/sdapi/v1/txt2img': () => new Promise((resolve) => (finish = resolve)),
      '/sdapi/v1/progress': () => {
        if (seen.length === 0) throw new Error('busy');
        return seen.shift();
      },
    });
    const imageServer = generate(
      a1111Server(connection, settle, () => 'task1'),
      { previewEvery: 1 },
      (step, of, preview) => steps.push([step, of, preview?.[0]]),
    );
    while (seen.length > 0) await settle();
    finish(answered([base64(1)]));
    expect((await imageServer).bytes[0]).toBe(1);
    expect(steps).toEqual([
      [1, 2, 4],
      [2, 2, 4],
    ]);
    expect(asked.some(({ path }) => path === '/sdapi/v1/progress?skip_current_image=false&id_task=task1')).toBe(true);
    // Another Parley shows a preview only to whoever knows the name of its request.
    expect(asked.find(({ path }) => path === '/sdapi/v1/txt2img')?.body).toMatchObject({ force_task_id: 'task1' });
  });

  test('stop sends interrupt', async () => {
    const { connection, bodies } = fakeConnection({ '/sdapi/v1/interrupt': () => ({}) });
    await a1111Server(connection, unseen).stop();
    expect(bodies('/sdapi/v1/interrupt')).toEqual([{}]);
  });
});

test('a1111Server.upscale: has the requested size, and rejects without a picture', async () => {
  const request = { image: Uint8Array.of(1), upscaler: 'R-ESRGAN', width: 20, height: 30 };
  const { connection, bodies } = fakeConnection({ '/sdapi/v1/extra-single-image': () => ({ image: base64(3) }) });
  expect([...(await a1111Server(connection, unseen).upscale(request, never))]).toEqual([3]);
  expect(bodies('/sdapi/v1/extra-single-image')[0]).toMatchObject({
    upscaler_1: 'R-ESRGAN',
    resize_mode: 1,
    upscaling_resize_w: 20,
    upscaling_resize_h: 30,
  });
  await expect(a1111Server(fakeConnection({}).connection, unseen).upscale(request, never)).rejects.toThrow(
    'gave no picture',
  );
});

describe('a1111Server with sd-server of stable-diffusion.cpp', () => {
  const guidance = { txt_cfg: 1, img_cfg: null };
  const defaults = { width: 1024, height: 1024, sample_params: { sample_steps: 4, guidance } };
  const lists = {
    '/sdcpp/v1/capabilities': () => ({ supported_modes: ['img_gen'], defaults_by_mode: { img_gen: defaults } }),
    '/sdapi/v1/samplers': () => [{ name: 'default' }, { name: 'euler' }, { name: 'euler_a' }],
    '/sdapi/v1/upscalers': () => ['None', 'Lanczos', 'Nearest'].map((name) => ({ name, scale: 4 })),
    '/sdapi/v1/loras': () => [{ name: 'film', path: 'styles/film.safetensors' }],
    '/sdapi/v1/txt2img': () => answered([base64(1)]),
  };
  async function sdServer(changes: Parameters<typeof fakeConnection>[0] = {}, wait = unseen) {
    const fake = fakeConnection({ ...lists, ...changes });
    const server = a1111Server(fake.connection, wait);
    return { ...fake, server, facts: await server.facts() };
  }

  test('has the default steps, guidance and size of the server', async () => {
    const { facts } = await sdServer();
    expect(facts).toMatchObject({ nativeSize: 1024, defaults: { steps: 4, guidance: 1, size: 1024 } });
    const none = await sdServer({ '/sdcpp/v1/capabilities': () => ({ defaults_by_mode: { img_gen: { width: 0 } } }) });
    expect(none.facts).toMatchObject({ nativeSize: 512, defaults: { steps: 20, guidance: 7, size: 512 } });
  });

  test.each(['film', 'FILM', 'film.safetensors'])('sends the LoRA %s as a field, not as a tag', async (name) => {
    const { server, bodies } = await sdServer();
    await generate(server, { prompt: 'a boat', loras: [{ name, weight: 0.5 }] });
    expect(bodies('/sdapi/v1/txt2img')[0]).toMatchObject({
      prompt: 'a boat',
      lora: [{ path: 'styles/film.safetensors', multiplier: 0.5 }],
    });
  });

  test('sends a space instead of an empty prompt, which it refuses', async () => {
    const { server, bodies } = await sdServer();
    await generate(server, { prompt: '' });
    expect(bodies('/sdapi/v1/txt2img')[0]).toMatchObject({ prompt: ' ' });
  });

  test('does not request progress and interrupts, which it does not have', async () => {
    const slow = async () => {
      await settle();
      return answered([base64(1)]);
    };
    const { server, asked } = await sdServer({ '/sdapi/v1/txt2img': slow }, settle);
    await generate(server);
    await server.stop();
    expect(asked.map(({ path }) => path).filter((path) => /progress|interrupt/.test(path))).toEqual([]);
  });

  test('an unknown sampler or scheduler is reported, which it replaces silently', async () => {
    const { server, bodies } = await sdServer();
    expect(await generate(server, { sampler: 'Restart', scheduler: 'beta' })).toMatchObject({
      used: { sampler: 'default', scheduler: 'automatic' },
      notes: [
        'There is no sampler "Restart"; default was taken.',
        'There is no scheduler "beta"; automatic was taken.',
      ],
    });
    expect(bodies('/sdapi/v1/txt2img')[0]).toMatchObject({ sampler_name: 'default', scheduler: 'automatic' });
    expect(await generate(server, { sampler: 'Euler a', scheduler: 'default' })).toMatchObject({
      used: { sampler: 'euler_a', scheduler: 'automatic' },
      notes: [],
    });
  });

  test('upscale: returns the picture as it is, to be resized', async () => {
    const { server, facts, bodies } = await sdServer();
    expect(facts.upscalers).toEqual([]);
    const request = { image: Uint8Array.of(9), upscaler: 'None', width: 20, height: 30 };
    expect([...(await server.upscale(request, never))]).toEqual([9]);
    expect(bodies('/sdapi/v1/extra-single-image')).toEqual([]);
  });
});
