import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { ImageEditor } from '../../core/image-editing.ts';
import { noKey } from '../../core/owner.ts';
import type { Call, Endpoint } from '../../http/call.ts';
import { handTimer, latch } from '../../http/testing/world.ts';
import { imageHeader, pngTexts } from '../images/image-header.ts';
import { asked } from '../testing/asked.ts';
import {
  base64Of,
  drawSquares,
  type FakeImageOptions,
  fakeImage,
  inProcessEditor,
  pixelAt,
  pngOf,
  stoppedAfterOne,
} from '../testing/pictures.ts';
import { LastDrawings, progressReply } from './progress.ts';
import { type SdapiOptions, sdapiWorld } from './testing/world.ts';

function world(fakeOptions: FakeImageOptions = {}, options: SdapiOptions = {}) {
  const fake = fakeImage(fakeOptions);
  const { endpoints } = sdapiWorld(fake, options);
  const draw = (body: unknown, own: Partial<Call> = {}) => asked(endpoints, 'POST', '/sdapi/v1/txt2img', body, own);
  const redraw = (body: unknown) => asked(endpoints, 'POST', '/sdapi/v1/img2img', body);
  const get = (target: string) => asked(endpoints, 'GET', target);
  return { fake, endpoints, draw, redraw, get };
}

const picture = base64Of(pngOf(100, 50));

describe('txt2img', () => {
  test('returns a picture in base64', async () => {
    const { draw, fake } = world();
    const { status, json } = await draw({
      prompt: 'a lighthouse',
      negative_prompt: 'blurry',
      steps: 7,
      width: 256,
      height: 320,
    });
    expect(status).toBe(200);
    expect(json).toMatchObject({ animated: false, extra_data: '', final_frame: '' });
    expect(imageHeader(Buffer.from(json.images[0], 'base64'))).toMatchObject({
      width: 256,
      height: 320,
      format: 'png',
    });
    expect(fake.asked[0]?.request).toMatchObject({
      prompt: 'a lighthouse',
      negativePrompt: 'blurry',
      steps: 7,
      guidance: 5,
      count: 1,
    });
  });

  test('returns its parameters as JSON inside of JSON', async () => {
    const { draw } = world();
    const { json } = await draw({
      prompt: 'a boat',
      seed: 11,
      batch_size: 2,
      sampler_name: 'Euler a',
      scheduler: 'Karras',
      width: 128,
      height: 128,
    });
    const info = JSON.parse(json.info);
    expect(info).toMatchObject({
      prompt: 'a boat',
      all_prompts: ['a boat', 'a boat'],
      seed: 11,
      all_seeds: [11, 12],
      width: 128,
      height: 128,
      sampler_name: 'Euler a',
      cfg_scale: 5,
      steps: 20,
      batch_size: 2,
      sd_model_name: 'sketch',
      sd_model_hash: 'abcdefabcd',
      denoising_strength: null,
      extra_generation_params: { 'Schedule type': 'karras' },
      index_of_first_image: 0,
      job_timestamp: '20231114221320',
      clip_skip: 1,
    });
    expect(info.infotexts).toHaveLength(2);
  });

  test('writes the infotext into the picture, in the order that clients read by position', async () => {
    const { draw } = world();
    const { json } = await draw({
      prompt: 'a boat',
      negative_prompt: 'fog',
      seed: 11,
      batch_size: 2,
      width: 128,
      height: 128,
    });
    const texts = json.images.map((image: string) => pngTexts(Buffer.from(image, 'base64')).parameters);
    expect(texts[0]).toBe(
      'a boat\nNegative prompt: fog\nSteps: 20, Sampler: Euler, CFG scale: 5, Seed: 11, Size: 128x128, Model hash: abcdefabcd, Model: sketch, Version: Parley 0.1.0',
    );
    expect(texts[1]).toContain('Seed: 12');
    expect(JSON.parse(json.info).infotexts).toEqual(texts);
  });

  test('returns the effective parameters', async () => {
    const { draw } = world();
    const { json } = await draw({ prompt: 'a boat', steps: '500', width: 1e9, height: 'x', styles: ['a'] });
    expect(json.parameters).toMatchObject({
      prompt: 'a boat',
      steps: 80,
      seed: 417_203,
      cfg_scale: 5,
      styles: ['a'],
      sampler_name: 'euler',
    });
    expect(json.parameters.width * json.parameters.height).toBeLessThanOrEqual(832 ** 2);
  });

  test('reads numbers from strings, and ignores values that are not numbers', async () => {
    const { draw, fake } = world();
    await draw({ prompt: 'a', steps: '9', cfg_scale: 'high', seed: '12', width: null, height: '192' });
    expect(fake.asked[0]?.request).toMatchObject({ steps: 9, guidance: 5, seed: 12, width: 512, height: 192 });
  });

  test.each([
    [
      { width: 0, height: 0, steps: 0, batch_size: 0, n_iter: -3 },
      { width: 64, height: 64, steps: 1, count: 1 },
    ],
    [
      { steps: 1e12, batch_size: 1e6, n_iter: 1e6, cfg_scale: 1e6 },
      { steps: 80, count: 10, guidance: 25 },
    ],
    [
      { steps: -5, cfg_scale: -5, denoising_strength: 9, width: -100, height: 1e15 },
      { steps: 1, guidance: 1, strength: 1, width: 64 },
    ],
  ])('limits %j', async (sent, request) => {
    const { draw, fake } = world();
    expect((await draw({ prompt: 'a', ...sent })).status).toBe(200);
    expect(fake.asked[0]?.request).toMatchObject(request);
  });

  test('uses a default prompt', async () => {
    const { draw, fake } = world();
    expect((await draw('')).status).toBe(422);
    expect((await draw({})).status).toBe(200);
    expect(fake.asked[0]?.request.prompt).toBe('high quality');
  });

  test('names ignored fields and warnings of the engine in headers', async () => {
    const { draw } = world({ notes: ['There is no sampler Restart'] });
    const { headers } = await draw({
      prompt: 'a <lora:film:1>',
      sampler_name: 'Restart',
      restore_faces: true,
      eta: 0.5,
    });
    expect(headers['x-parley-ignored']).toBe('eta, restore_faces');
    expect(headers['x-parley-warnings']).toBe('There is no LoRA film, There is no sampler Restart');
  });

  test('applies --gendefaults to missing fields', async () => {
    const { draw, fake } = world(
      {},
      {
        applyDefaults: (body, of) => (of === 'image' ? { steps: 33, ...body } : body),
      },
    );
    await draw({ prompt: 'a' });
    expect(fake.asked[0]?.request.steps).toBe(33);
  });

  test('send_images false: returns no pictures', async () => {
    const { json } = await world().draw({ prompt: 'a', send_images: false });
    expect(json.images).toEqual([]);
  });

  test('returns the finished pictures of an interrupted drawing', async () => {
    const { draw } = world({ script: stoppedAfterOne });
    const { status, json } = await draw({ prompt: 'a', batch_size: 3, seed: 4 });
    expect(status).toBe(200);
    expect(json.images).toHaveLength(1);
    expect(JSON.parse(json.info)).toMatchObject({ all_seeds: [4] });
  });
});

describe('img2img', () => {
  test('uses the first picture, cropped to the size of the request', async () => {
    const { redraw, fake } = world();
    const { status, json } = await redraw({
      prompt: 'a',
      init_images: [picture],
      width: 128,
      height: 128,
      denoising_strength: 0.3,
    });
    expect(status).toBe(200);
    const [{ request } = { request: undefined }] = fake.asked;
    expect(request).toMatchObject({ strength: 0.3 });
    expect(imageHeader(request?.initial as Uint8Array)).toMatchObject({ width: 128, height: 128 });
    expect(JSON.parse(json.info)).toMatchObject({ denoising_strength: 0.3 });
    expect(json.parameters).toMatchObject({ init_images: null });
  });

  test('repaints where the mask is white, or black if it is inverted', async () => {
    const { redraw, fake } = world();
    const mask = base64Of(pngOf(10, 10, [255, 255, 255]));
    await redraw({ init_images: [picture], mask, width: 64, height: 64 });
    await redraw({ init_images: [picture], mask, inpainting_mask_invert: 1, width: 64, height: 64 });
    const masks = fake.asked.map(({ request }) => request.mask as Uint8Array);
    expect(await Promise.all(masks.map((bytes) => pixelAt(bytes, 5, 5)))).toEqual([[255], [0]]);
    expect(masks.map((bytes) => imageHeader(bytes)?.width)).toEqual([64, 64]);
  });

  test('include_init_images: returns the pictures in the parameters', async () => {
    const { json } = await world().redraw({ init_images: [picture], include_init_images: true });
    expect(json.parameters.init_images).toEqual([picture]);
  });

  test('uses a single extra image as the initial picture', async () => {
    const { draw, fake } = world();
    await draw({ prompt: 'a', extra_images: [picture] });
    expect(fake.asked[0]?.request.initial).toBeDefined();
    const { headers } = await draw({ prompt: 'a', extra_images: [picture, picture] });
    expect(fake.asked[1]?.request.initial).toBeUndefined();
    expect(headers['x-parley-warnings']).toContain('extra_images');
  });

  test('returns the initial picture unchanged for one step and no strength', async () => {
    const { redraw, fake } = world();
    const { json } = await redraw({ init_images: [picture], steps: 1, denoising_strength: 0, width: 128, height: 64 });
    expect(fake.asked).toEqual([]);
    expect(imageHeader(Buffer.from(json.images[0], 'base64'))).toMatchObject({ width: 128, height: 64 });
  });

  test.each([
    ['without a picture', {}, 'init_images must be'],
    ['with an empty list', { init_images: [] }, 'init_images must be'],
    ['with an empty text', { init_images: [''] }, 'init_images must be'],
    ['with something else than a picture', { init_images: [5] }, 'init_images[0] must be'],
    ['with broken base64', { init_images: ['%%%'] }, 'init_images[0] must be'],
    ['with half a picture', { init_images: [picture.slice(0, 80)] }, 'init_images[0] must be a whole'],
    ['with an address', { init_images: ['http://127.0.0.1/secret.png'] }, 'init_images[0] must be'],
    ['with a mask that is none', { init_images: [picture], mask: 'abcd' }, 'mask must be'],
    ['with a prompt that is none', { init_images: [picture], prompt: 5 }, 'prompt must be'],
  ])('%s is refused in the error shape of the dialect', async (_, body, message) => {
    const { redraw, fake } = world();
    const { status, json } = await redraw(body);
    expect(status).toBe(422);
    expect(json.detail).toMatchObject({ type: 'bad_input' });
    expect(json.detail.msg).toContain(message);
    expect(json).toMatchObject({ error: 'HTTPException', errors: json.detail.msg });
    expect(fake.asked).toEqual([]);
  });
});

describe('enable_hr', () => {
  test('enlarges with the upscaler', async () => {
    const { draw, fake } = world();
    const { json } = await draw({ prompt: 'a', enable_hr: true, width: 128, height: 64 });
    expect(fake.upscaled[0]?.request).toMatchObject({ upscaler: 'Soft_2x', width: 256, height: 128 });
    expect(imageHeader(Buffer.from(json.images[0], 'base64'))).toMatchObject({ width: 256, height: 128 });
    expect(JSON.parse(json.info)).toMatchObject({ width: 256, height: 128 });
  });

  test('uses hr_scale or the given size', async () => {
    const { draw, fake } = world();
    await draw({ enable_hr: 1, hr_scale: 3, width: 64, height: 64 });
    await draw({ enable_hr: 1, hr_resize_x: 100, hr_resize_y: 90, width: 64, height: 64 });
    await draw({ enable_hr: 1, hr_scale: 99, width: 64, height: 64 });
    expect(fake.upscaled.map(({ request }) => request.width)).toEqual([192, 100, 256]);
  });

  test('warns if there is no upscaler', async () => {
    const { headers } = await world({ facts: { upscalers: [] } }).draw({ prompt: 'a', enable_hr: true });
    expect(headers['x-parley-warnings']).toBe('There is no upscaler for enable_hr');
  });
});

describe('txt2img: errors', () => {
  test('without a model: model-missing', async () => {
    const { endpoints } = sdapiWorld(undefined);
    const { status, json } = await asked(endpoints, 'POST', '/sdapi/v1/txt2img', { prompt: 'a' });
    expect(status).toBe(503);
    expect(json.detail).toEqual({
      msg: 'No image model is loaded. Start the server with --sdmodel FILE.',
      type: 'service_unavailable',
    });
  });

  test('invalid JSON: 422 bad_input', async () => {
    const { status, json } = await world().draw('{"prompt":');
    expect([status, json.detail.type]).toEqual([422, 'bad_input']);
    expect((await world().draw('[1]')).json.detail.msg).toContain('body must be an object');
  });

  test('engine error: 500 generation_error', async () => {
    // biome-ignore lint/correctness/useYield: fails before the first event.
    const script = async function* () {
      throw new AppError('engine-lost', { capability: 'image' });
    };
    const { status, json } = await world({ script }).draw({ prompt: 'a' });
    expect([status, json.detail.type]).toEqual([500, 'generation_error']);
  });
});

describe('disconnected clients', () => {
  test('stop their drawing', async () => {
    const gone = new AbortController();
    const { draw, fake } = world();
    await draw({ prompt: 'a' }, { signal: gone.signal });
    gone.abort();
    expect(fake.asked[0]?.requestContext.signal.aborted).toBe(true);
  });

  test.each([[{ kcpp_extra_args: { keep_image_gen_on_disconnect: true } }], [{ keep_image_gen_on_disconnect: true }]])(
    'do not stop it with %j',
    async (sent) => {
      const gone = new AbortController();
      const { draw, fake } = world();
      await draw({ prompt: 'a', ...sent }, { signal: gone.signal });
      gone.abort();
      expect(fake.asked[0]?.requestContext.signal.aborted).toBe(false);
    },
  );

  test('sdapi: get_last.json returns the last picture of a key until the next request with that key', async () => {
    const { draw, get } = world();
    await draw({ prompt: 'a', negative_prompt: 'b', genkey: 'mine' });
    const { json } = await get('/sdapi/v1/get_last.json?genkey=mine');
    expect(json).toMatchObject({ prompt: 'a ### b', models: ['sketch'] });
    expect(json.images).toHaveLength(1);
    await draw({ prompt: 'b' });
    await draw({ prompt: 'c', genkey: 'other' });
    expect((await get('/sdapi/v1/get_last.json?genkey=mine')).json.prompt).toBe('a ### b');
    await draw({ prompt: 'd', genkey: 'mine' });
    expect((await get('/sdapi/v1/get_last.json?genkey=mine')).json.prompt).toBe('d ### ');
  });

  test('sdapi: progress says whether get_last.json has the reply of a key', () => {
    const last = new LastDrawings();
    const stored = (query: string) =>
      progressReply(
        { query: new URLSearchParams(query), remoteAddress: '127.0.0.1' },
        { progress: () => undefined } as never,
        last,
        0,
      );
    expect(stored('genkey=mine')).toMatchObject({ stored: false });
    last.remember(noKey, 'mine', {}, []);
    expect(stored('genkey=mine')).toMatchObject({ stored: true });
    expect(stored('')).not.toHaveProperty('stored');
  });

  test('sdapi: get_last.json says which key is unknown or that it is missing, with 404', async () => {
    const { get } = world();
    const unknown = await get('/sdapi/v1/get_last.json?genkey=other');
    expect([unknown.status, unknown.json.detail.msg]).toEqual([404, expect.stringMatching(/genkey "other"/)]);
    const missing = await get('/sdapi/v1/get_last.json');
    expect([missing.status, missing.json.detail.msg]).toEqual([
      404,
      expect.stringMatching(/parameter genkey is missing/),
    ]);
  });

  test('sdapi: get_last.json has the replies of the newest keys only', () => {
    const last = new LastDrawings();
    for (let key = 0; key < 100; key++) last.remember(noKey, `k${key}`, { key }, ['x']);
    expect(last.lastOf(noKey, 'k99')).toEqual({ key: 99 });
    expect(last.lastOf(noKey, 'k0')).toBeUndefined();
    last.remember(noKey, 'large', { large: true }, ['x'.repeat(2 ** 26 + 1)]);
    expect([last.lastOf(noKey, 'large'), last.lastOf(noKey, 'k99')]).toEqual([{ large: true }, undefined]);
  });
});

describe('padded replies', () => {
  test.each([
    ['keepalive', { keepalive: true }, {}],
    ['the header of a tunnel', {}, { headers: { 'cf-connecting-ip': '1.2.3.4' } }],
    ['a drawing that is to go on', { keep_image_gen_on_disconnect: 1 }, {}],
  ])('begin with white space because of %s', async (_, sent, own) => {
    const { startTimer, pass } = handTimer();
    const { promise, open } = latch();
    const script: FakeImageOptions['script'] = async function* (request) {
      await promise;
      yield* drawSquares(request);
    };
    const { draw } = world({ script }, { startTimer });
    const answer = draw({ prompt: 'a', ...sent }, own);
    await new Promise((resolve) => setImmediate(resolve));
    pass(15_000);
    open();
    const { status, text, json } = await answer;
    expect(status).toBe(200);
    expect(text.startsWith(' ')).toBe(true);
    expect(json.images).toHaveLength(1);
  });

  test('have an error in the body', async () => {
    const { startTimer, pass } = handTimer();
    const { promise, open } = latch();
    // biome-ignore lint/correctness/useYield: fails before the first event.
    const script = async function* () {
      await promise;
      throw new AppError('engine-silent', { capability: 'image' });
    };
    const { draw } = world({ script }, { startTimer });
    const answer = draw({ prompt: 'a', keepalive: true });
    await new Promise((resolve) => setImmediate(resolve));
    pass(15_000);
    open();
    const { status, json } = await answer;
    expect(status).toBe(200);
    expect(json.detail).toMatchObject({ type: 'generation_error' });
  });
});

describe('initial pictures', () => {
  const init = base64Of(pngOf(64, 64));
  const editedBy = () => {
    const edits: string[] = [];
    const editor: ImageEditor = {
      edit: (edit, pictures, signal) => {
        edits.push(edit.type);
        return inProcessEditor.edit(edit, pictures, signal);
      },
    };
    return { edits, editor };
  };
  const img2img = (endpoints: readonly Endpoint[], body: object = {}) =>
    asked(endpoints, 'POST', '/sdapi/v1/img2img', { prompt: 'a', init_images: [init], ...body });

  test('sdapi: img2img decodes no picture when the queue is full', async () => {
    const { edits, editor } = editedBy();
    const fake = fakeImage({ places: 1 });
    fake.queue.enter({ client: 'other' });
    const { endpoints } = sdapiWorld(fake, { editor });
    expect((await img2img(endpoints)).status).toBe(503);
    expect(edits).toEqual([]);
  });

  test('sdapi: img2img decodes its picture only when its turn has come', async () => {
    const { edits, editor } = editedBy();
    const fake = fakeImage();
    const before = fake.queue.enter({ client: 'other' });
    const { endpoints } = sdapiWorld(fake, { editor });
    const reply = img2img(endpoints);
    await new Promise((resolve) => setImmediate(resolve));
    expect([fake.queue.waiting, edits]).toEqual([1, []]);
    before.leave();
    expect((await reply).status).toBe(200);
    expect(edits).toEqual(['fit']);
  });

  test('sdapi: a picture of too many pixels is refused by its header, before it is queued', async () => {
    const { edits, editor } = editedBy();
    const fake = fakeImage({ places: 1 });
    fake.queue.enter({ client: 'other' });
    const huge = pngOf(8, 8);
    huge.writeUInt32BE(60_000, 16);
    huge.writeUInt32BE(60_000, 20);
    const { endpoints } = sdapiWorld(fake, { editor });
    expect((await img2img(endpoints, { init_images: [base64Of(huge)] })).status).toBe(422);
    expect(edits).toEqual([]);
  });

  test('sdapi: a picture that is only scaled waits for its turn too, without the model', async () => {
    const fake = fakeImage();
    const before = fake.queue.enter({ client: 'other' });
    const { endpoints } = sdapiWorld(fake);
    const reply = img2img(endpoints, { steps: 1, denoising_strength: 0 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(fake.queue.waiting).toBe(1);
    before.leave();
    expect((await reply).json.images).toHaveLength(1);
    expect(fake.asked).toEqual([]);
  });
});
