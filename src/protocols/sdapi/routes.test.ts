import { describe, expect, test } from 'vitest';
import { withPngTexts } from '../images/image-header.ts';
import { asked } from '../testing/asked.ts';
import { readyState } from '../testing/doubles.ts';
import { base64Of, fakeImage, imageFacts, pngOf } from '../testing/pictures.ts';
import { sdapiWorld } from './testing/world.ts';

const picture = base64Of(pngOf(30, 20));

function world(fake = fakeImage()) {
  const { endpoints, chats, read } = sdapiWorld(fake);
  return {
    fake,
    chats,
    read,
    endpoints,
    get: (path: string) => asked(endpoints, 'GET', `/sdapi/v1/${path}`),
    post: (path: string, body: unknown = '') => asked(endpoints, 'POST', `/sdapi/v1/${path}`, body),
  };
}

describe('sdapi lists', () => {
  test('sd-models: has the title of the options', async () => {
    const { get } = world();
    const [model] = (await get('sd-models')).json;
    expect(model).toEqual({
      title: imageFacts.title,
      model_name: 'sketch',
      hash: 'abcdefabcd',
      sha256: imageFacts.sha256,
      filename: 'sketch.safetensors',
      config: null,
    });
    expect((await get('options')).json).toMatchObject({ samples_format: 'png', sd_model_checkpoint: model.title });
  });

  test('upscalers: has each resampler once, without a model name', async () => {
    const upscalers = [
      { name: 'None', scale: 1 },
      { name: 'Lanczos', scale: 4 },
      { name: 'ESRGAN', scale: 4 },
    ];
    const { json } = await world(fakeImage({ facts: { upscalers } })).get('upscalers');
    expect(json.map((one: { name: string; model_name: string }) => [one.name, one.model_name])).toEqual([
      ['None', null],
      ['Lanczos', null],
      ['ESRGAN', 'ESRGAN'],
    ]);
  });

  test('sd-models: has a fixed hash if none is known', async () => {
    const { sha256: _, ...facts } = imageFacts;
    const fake = fakeImage();
    const unknown = { ...fake, image: { ...fake.image, facts } };
    const [model] = (await world(unknown).get('sd-models')).json;
    expect(model).toMatchObject({ hash: '8888888888', sha256: '8'.repeat(64) });
  });

  test('samplers, schedulers and upscalers: have all their names', async () => {
    const { get } = world();
    expect((await get('samplers')).json[1]).toEqual({
      name: 'Euler a',
      aliases: ['euler_a', 'k_euler_a', 'euler_ancestral'],
      options: {},
    });
    expect((await get('schedulers')).json).toEqual([
      { name: 'discrete', label: 'discrete', aliases: [] },
      { name: 'karras', label: 'karras', aliases: [] },
    ]);
    expect((await get('upscalers')).json.map(({ name }: { name: string }) => name)).toEqual([
      'None',
      'ESRGAN_4x',
      'Soft_2x',
    ]);
  });

  test.each([
    'latent-upscale-modes',
    'loras',
    'sd-vae',
    'sd-modules',
    'prompt-styles',
    'hypernetworks',
    'face-restorers',
    'realesrgan-models',
    'extensions',
    'script-info',
  ])('%s is an empty array, which clients need', async (path) => {
    expect(await world().get(path)).toMatchObject({ status: 200, json: [] });
  });

  test('scripts, embeddings, cmd-flags and memory are objects', async () => {
    const { get } = world();
    expect((await get('embeddings')).json).toEqual({ loaded: {}, skipped: {} });
    expect((await get('scripts')).json).toEqual({ txt2img: [], img2img: [] });
    expect((await get('cmd-flags')).json).toEqual({ api: true, ckpt: 'sketch.safetensors' });
    const { ram, cuda } = (await get('memory')).json;
    expect(ram.free + ram.used).toBe(ram.total);
    expect(cuda).toEqual({ error: 'unavailable' });
  });

  test('are empty without a model', async () => {
    const { endpoints } = sdapiWorld(undefined);
    for (const path of ['sd-models', 'samplers', 'schedulers', 'upscalers', 'loras']) {
      expect((await asked(endpoints, 'GET', `/sdapi/v1/${path}`)).json).toEqual([]);
    }
    expect((await asked(endpoints, 'GET', '/sdapi/v1/options')).json).toMatchObject({ sd_model_checkpoint: '' });
    expect((await asked(endpoints, 'GET', '/sdapi/v1/progress')).json).toMatchObject({ progress: 0 });
    expect((await asked(endpoints, 'POST', '/sdapi/v1/interrupt')).json).toEqual({});
  });

  test('loras and sd-vae: have the files of the model', async () => {
    const facts = { loras: [{ name: 'film', file: 'film.gguf' }], vae: 'soft.safetensors' };
    const { get } = world(fakeImage({ facts }));
    expect((await get('loras')).json).toEqual([{ name: 'film', alias: 'film', path: 'film.gguf', metadata: {} }]);
    for (const path of ['sd-vae', 'sd-modules']) {
      expect((await get(path)).json).toEqual([{ model_name: 'soft.safetensors', filename: 'soft.safetensors' }]);
    }
  });

  test('are found below prefixes of a proxy', async () => {
    expect((await asked(world().endpoints, 'GET', '/some/app/sdapi/v1/loras')).json).toEqual([]);
  });
});

describe('POST /sdapi/v1/options', () => {
  test.each([imageFacts.title, 'sketch', 'SKETCH.safetensors', 'abcdefabcd', ''])(
    'accepts %j as the loaded model',
    async (name) => {
      expect(await world().post('options', { sd_model_checkpoint: name, whatever: 1 })).toMatchObject({
        status: 200,
        json: null,
      });
    },
  );

  test('accepts the reply of GET', async () => {
    const { get, post } = world();
    expect((await post('options', (await get('options')).json)).status).toBe(200);
  });

  test('refuses an unknown model', async () => {
    const { status, json } = await world().post('options', { sd_model_checkpoint: 'dreamy' });
    expect(status).toBe(404);
    expect(json.errors).toBe('There is no model "dreamy" on this server.');
  });
});

describe('interrupt and skip', () => {
  test('reply like the original', async () => {
    const { post } = world();
    expect((await post('interrupt')).json).toEqual({});
    expect((await post('skip')).json).toBeNull();
    for (const path of ['refresh-checkpoints', 'refresh-vae', 'refresh-embeddings', 'refresh-loras']) {
      expect((await post(path)).json).toBeNull();
    }
    for (const path of ['unload-checkpoint', 'reload-checkpoint']) expect((await post(path)).json).toEqual({});
  });

  test('do not wait in the queue', () => {
    const quick = world().endpoints.filter(({ path }) => /interrupt|skip|options|refresh|progress/.test(path));
    expect(quick.length).toBeGreaterThan(6);
    expect(quick.every(({ rateLimited }) => !rateLimited)).toBe(true);
  });

  test('interrupt: stops the drawing, and progress shows it', async () => {
    const { fake, post, get } = world();
    fake.progress = { step: 3, steps: 20, images: 0, count: 1, genkey: '', skipped: false, secondsSoFar: 1 };
    await post('interrupt', 'not JSON at all');
    expect(fake.interrupts).toBe(1);
    expect((await get('progress')).json.state.interrupted).toBe(true);
  });

  test('interrupt: only progress of the same key shows it', async () => {
    const { fake, endpoints } = world();
    const by = (name: string) => ({ key: { name, scopes: ['images'], weight: 1 } });
    fake.progress = { step: 3, steps: 20, images: 0, count: 1, genkey: '', skipped: false, secondsSoFar: 1 };
    await asked(endpoints, 'POST', '/sdapi/v1/interrupt', '', by('one'));
    const interrupted = async (name: string) =>
      (await asked(endpoints, 'GET', '/sdapi/v1/progress', '', by(name))).json.state.interrupted;
    expect([await interrupted('one'), await interrupted('other')]).toEqual([true, false]);
  });

  test('skip: continues with the next image, without an interrupt', async () => {
    const { fake, post, get } = world();
    await post('skip');
    fake.progress = { step: 3, steps: 20, images: 0, count: 2, genkey: '', skipped: true, secondsSoFar: 1 };
    await post('skip', 'not JSON at all');
    expect([fake.skips, fake.interrupts]).toEqual([2, 0]);
    expect((await get('progress')).json.state).toMatchObject({ skipped: true, interrupted: false });
  });
});

describe('upscaling', () => {
  test.each(['extra-single-image', 'upscale'])('%s: doubles a picture by default', async (path) => {
    const { post, fake } = world();
    const { json } = await post(path, { image: `data:image/png;base64,${picture}` });
    expect(fake.upscaled[0]?.request).toMatchObject({ upscaler: 'Soft_2x', width: 60, height: 40 });
    expect(json.html_info).toBe('<p>30x20 to 60x40, upscaler: Soft_2x</p>');
    expect(Buffer.from(json.image, 'base64').subarray(1, 4).toString()).toBe('PNG');
  });

  test('only resizes without an upscaler', async () => {
    const { post, fake } = world();
    await post('extra-single-image', { image: picture, upscaler_1: 'None', upscaling_resize: 1.5 });
    expect(fake.upscaled[0]?.request).toMatchObject({ upscaler: 'None', width: 45, height: 30 });
    const bare = world(fakeImage({ facts: { upscalers: [] } }));
    expect((await bare.post('upscale', { image: picture })).json.html_info).toContain('upscaler: None');
  });

  test('resize_mode 1: scales to a size, cropped or not', async () => {
    const { post, fake } = world();
    const size = { resize_mode: 1, upscaling_resize_w: 60, upscaling_resize_h: 60 };
    const cut = await post('extra-single-image', { image: picture, ...size });
    expect(cut.json.html_info).toContain('to 60x60');
    const whole = await post('extra-single-image', { image: picture, ...size, upscaling_crop: false });
    expect(whole.json.html_info).toContain('to 90x60');
    expect(fake.upscaled.map(({ request }) => [request.width, request.height])).toEqual([
      [90, 60],
      [90, 60],
    ]);
  });

  test('extra-batch-images: reads both names of the list', async () => {
    const { post, fake } = world();
    expect(
      (await post('extra-batch-images', { imageList: [{ data: picture, name: 'a' }, { data: picture }] })).json.images,
    ).toHaveLength(2);
    expect(
      (await post('extra-batch-images', { image_list: [{ image: picture, name: 'a' }] })).json.images,
    ).toHaveLength(1);
    expect(fake.upscaled).toHaveLength(3);
  });

  test.each([
    ['extra-single-image', {}, 'image must be'],
    ['extra-single-image', { image: 'x' }, 'image must be'],
    ['extra-single-image', { image: picture, upscaling_resize: 0 }, 'upscaling_resize must be more than 0'],
    ['extra-single-image', { image: picture, upscaling_resize: -2 }, 'upscaling_resize must be more than 0'],
    ['extra-single-image', { image: picture, upscaling_resize: 1e9 }, 'upscaling_resize must be small enough'],
    [
      'extra-single-image',
      { image: picture, resize_mode: 1, upscaling_resize_w: 99_999 },
      'upscaling_resize_w must be small enough',
    ],
    ['extra-batch-images', {}, 'imageList must be a list'],
    ['extra-batch-images', { imageList: [] }, 'imageList must be a list'],
    ['extra-batch-images', { imageList: 'x' }, 'imageList must be'],
    ['extra-batch-images', { imageList: [{ name: 'a' }] }, 'imageList[0].data must be'],
    ['extra-batch-images', { imageList: [{ data: 'a' }] }, 'imageList[0].data must be'],
    ['extra-batch-images', { imageList: Array(65).fill({ data: picture }) }, 'at most 64'],
    ['upscale', '', 'not valid JSON'],
  ])('%s refuses %j', async (path, body, message) => {
    const { post, fake } = world();
    const { status, json } = await post(path, body);
    expect(status).toBe(422);
    expect(json.detail.msg).toContain(message);
    expect(fake.upscaled).toEqual([]);
  });

  test('without a model: model-missing', async () => {
    const { endpoints } = sdapiWorld(undefined);
    expect((await asked(endpoints, 'POST', '/sdapi/v1/upscale', { image: picture })).status).toBe(503);
  });
});

describe('interrogate', () => {
  test('returns whole sentences of the vision model', async () => {
    const { post, chats, read } = world();
    expect((await post('interrogate', { image: picture, model: 'clip' })).json).toEqual({
      caption: 'A red boat on a lake.',
    });
    expect(chats).toHaveLength(1);
    expect(read[0]).toMatchObject({
      max_tokens: 150,
      messages: [
        {
          role: 'user',
          content: [{ type: 'image_url', image_url: { url: `data:image/png;base64,${picture}` } }, { type: 'text' }],
        },
      ],
    });
  });

  test('returns a text without a sentence end unchanged', async () => {
    const { endpoints } = sdapiWorld(undefined, { caption: ' A red boat ' });
    expect((await asked(endpoints, 'POST', '/sdapi/v1/interrogate', { image: picture })).json.caption).toBe(
      'A red boat',
    );
  });

  test.each([{ state: readyState({ inputs: { image: false, audio: false } }) }, { state: { type: 'none' } as const }])(
    'is refused without a vision model',
    async (options) => {
      const { endpoints, chats } = sdapiWorld(fakeImage(), options);
      const { status, json } = await asked(endpoints, 'POST', '/sdapi/v1/interrogate', { image: picture });
      expect([status, json.detail.type]).toEqual([503, 'service_unavailable']);
      expect(json.detail.msg).toContain('No vision model is loaded');
      expect(chats).toEqual([]);
    },
  );

  test('refuses an invalid picture', async () => {
    expect((await world().post('interrogate', { image: 'x' })).status).toBe(422);
    expect((await world().post('interrogate', {})).status).toBe(422);
  });
});

describe('png-info', () => {
  test.each(['jpeg', 'webp'] as const)('reads the infotext of a %s', async (format) => {
    const { default: sharp } = await import('sharp');
    const story = 'a boat\nNegative prompt: fog\nSteps: 4, Sampler: Euler, CFG scale: 2, Seed: 5, Size: 64x32';
    const told = sharp(pngOf(64, 32)).withExif({ IFD2: { UserComment: story } });
    const image = (await told.toFormat(format).toBuffer()).toString('base64');
    const { info, parameters } = (await world().post('png-info', { image })).json;
    expect(info).toBe(story);
    expect(parameters).toMatchObject({ Prompt: 'a boat', 'Negative prompt': 'fog', Seed: '5', 'Size-1': '64' });
  });

  test('reads the infotext of txt2img', async () => {
    const { post } = world();
    const [image] = (
      await post('txt2img', { prompt: 'a boat', negative_prompt: 'fog', seed: 7, width: 64, height: 128 })
    ).json.images;
    const { info, items, parameters } = (await post('png-info', { image: `data:image/png;base64,${image}` })).json;
    expect(info).toMatch(/^a boat\nNegative prompt: fog\nSteps: 20/);
    expect(items).toEqual({});
    expect(parameters).toMatchObject({
      Prompt: 'a boat',
      'Negative prompt': 'fog',
      Seed: '7',
      'Size-1': '64',
      'Size-2': '128',
      Model: 'sketch',
    });
  });

  test('returns the other texts of a picture', async () => {
    const image = base64Of(withPngTexts(pngOf(4, 4), { workflow: '{}' }));
    expect((await world().post('png-info', { image })).json).toEqual({
      info: '',
      items: { workflow: '{}' },
      parameters: {},
    });
  });

  test('refuses an invalid picture', async () => {
    const { status, json } = await world().post('png-info', { image: 'aGVsbG8=' });
    expect([status, json.detail.msg]).toEqual([422, 'image must be a whole PNG, JPEG, WebP or GIF picture.']);
  });
});
