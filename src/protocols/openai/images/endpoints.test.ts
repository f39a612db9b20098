import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { ImageEvent } from '../../../core/image.ts';
import type { Call } from '../../../http/call.ts';
import { handTimer, latch } from '../../../http/testing/world.ts';
import { imageHeader } from '../../images/image-header.ts';
import type { ImageContext } from '../../images/request.ts';
import { asked } from '../../testing/asked.ts';
import { bindAll } from '../../testing/bind.ts';
import { formOf, type SentFile } from '../../testing/forms.ts';
import {
  base64Of,
  drawSquares,
  type FakeImageOptions,
  fakeImage,
  pictureParts,
  pixelAt,
  pngOf,
  stoppedAfterOne,
} from '../../testing/pictures.ts';
import { imagesEndpoints } from './endpoints.ts';

function world(options: FakeImageOptions = {}, own: Partial<ImageContext> = {}) {
  const fake = fakeImage(options);
  const parts = pictureParts(fake, own);
  const endpoints = bindAll(imagesEndpoints(parts), parts);
  const post = (path: string, body: unknown, call: Partial<Call> = {}) => asked(endpoints, 'POST', path, body, call);
  return {
    fake,
    post,
    generate: (body: unknown, call: Partial<Call> = {}) => post('/v1/images/generations', body, call),
    edit: (body: unknown) => post('/v1/images/edits', body),
    sendForm: async (path: string, fields: Record<string, string>, files: readonly SentFile[]) =>
      post(path, '', await formOf(fields, files)),
  };
}

const small = { size: '64x64' };
const picture = pngOf(128, 64);
const url = `data:image/png;base64,${base64Of(picture)}`;
const factsOf = (base64: string) => imageHeader(Buffer.from(base64, 'base64'));
/** A mask whose pixels are all transparent. */
const hole = pngOf(128, 64, [0, 0, 0, 0]);

function frames(text: string): { readonly event: string | undefined; readonly data: Record<string, unknown> }[] {
  return text
    .split('\n\n')
    .filter((frame) => frame !== '' && !frame.startsWith(':'))
    .map((frame) => ({
      event: /^event: (.*)$/m.exec(frame)?.[1],
      data: JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? '{}'),
    }));
}

describe('POST /v1/images/generations', () => {
  test('always has b64_json, and the true size', async () => {
    const { generate } = world();
    const { status, json } = await generate({ prompt: 'a red boat', n: 2, size: '256x320', model: 'gpt-image-1' });
    expect(status).toBe(200);
    expect(json).toMatchObject({ created: 1_700_000_000, background: 'opaque', output_format: 'png', size: '256x320' });
    expect(json.data.map(({ b64_json: base64 }: { b64_json: string }) => factsOf(base64)?.width)).toEqual([256, 256]);
    expect(json.data[0]).not.toHaveProperty('url');
    expect(json.usage).toEqual({
      input_tokens: 3,
      output_tokens: 0,
      total_tokens: 3,
      input_tokens_details: { image_tokens: 0, text_tokens: 3 },
    });
  });

  test('response_format url: adds a data URL', async () => {
    const { json } = await world().generate({ prompt: 'a', ...small, response_format: 'url' });
    expect(json.data[0].url).toBe(`data:image/png;base64,${json.data[0].b64_json}`);
  });

  test.each([
    ['auto', 512, 512],
    ['', 512, 512],
    [undefined, 512, 512],
    ['512×256', 512, 256],
    ['landscape 512x256', 512, 256],
    ['1024x1024', 832, 832],
    ['99999x99999', 832, 832],
  ])('size %j is drawn as %s x %s', async (size, width, height) => {
    const { generate, fake } = world();
    expect((await generate({ prompt: 'a', size })).json.size).toBe(`${width}x${height}`);
    expect(fake.asked[0]?.request).toMatchObject({ width, height });
  });

  test.each(['jpeg', 'webp', 'jpg'])('output_format %s is used', async (format) => {
    const { json } = await world().generate({
      prompt: 'a',
      ...small,
      output_format: format,
      output_compression: 60,
      response_format: 'url',
    });
    expect(factsOf(json.data[0].b64_json)).toMatchObject({ format: format === 'jpg' ? 'jpeg' : format, width: 64 });
    expect(json.data[0].url).toMatch(/^data:image\/(jpeg|webp);base64,/);
  });

  test('accepts the fields of image programs', async () => {
    const { generate, fake } = world();
    await generate({
      prompt: 'a',
      ...small,
      negative_prompt: 'fog',
      steps: 9,
      cfg_scale: 3,
      seed: 7,
      sampler_name: 'Euler a',
      genkey: 'mine',
    });
    expect(fake.asked[0]).toMatchObject({
      request: { negativePrompt: 'fog', steps: 9, guidance: 3, seed: 7, sampler: 'euler_a' },
      requestContext: { genkey: 'mine' },
    });
  });

  test('names fields without effect in x-parley-ignored', async () => {
    const { headers } = await world({ notes: ['No such sampler'] }).generate({
      prompt: 'a <lora:x:1>',
      ...small,
      quality: 'hd',
      style: 'vivid',
    });
    expect(headers).toMatchObject({
      'x-parley-ignored': 'quality, style',
      'x-parley-warnings': 'There is no LoRA x, No such sampler',
    });
  });

  test('is also served without /v1', async () => {
    expect((await world().post('/images/generations', { prompt: 'a', ...small })).status).toBe(200);
  });

  test.each([
    [{}, 'prompt'],
    [{ prompt: '' }, 'prompt'],
    [{ prompt: 5 }, 'prompt'],
    [{ prompt: 'a', n: 0 }, 'n'],
    [{ prompt: 'a', n: 11 }, 'n'],
    [{ prompt: 'a', n: 1.5 }, 'n'],
    [{ prompt: 'a', n: 'many' }, 'n'],
    [{ prompt: 'a', size: 'large' }, 'size'],
    [{ prompt: 'a', size: '0x512' }, 'size'],
    [{ prompt: 'a', size: '512x0' }, 'size'],
    [{ prompt: 'a', size: 512 }, 'size'],
    [{ prompt: 'a', output_format: 'gif' }, 'output_format'],
    [{ prompt: 'a', output_format: 'bmp' }, 'output_format'],
    [{ prompt: 'a', partial_images: 9 }, 'partial_images'],
    [{ prompt: 'a', response_format: 'file' }, 'response_format'],
  ])('rejects %j with the field as param', async (body, param) => {
    const { generate, fake } = world();
    const { status, json } = await generate(body);
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ type: 'invalid_request_error', param });
    expect(fake.asked).toEqual([]);
  });

  test('fails with 503 without an image model', async () => {
    const { status, json } = await asked(
      bindAll(imagesEndpoints(pictureParts(undefined)), pictureParts(undefined)),
      'POST',
      '/v1/images/generations',
      {
        prompt: 'a',
      },
    );
    expect(status).toBe(503);
    expect(json.error).toMatchObject({ code: 'model_not_loaded', message: expect.stringContaining('--sdmodel') });
  });

  test('an aborted request has its finished pictures, or an error without any', async () => {
    const { json } = await world({ script: stoppedAfterOne }).generate({ prompt: 'a', n: 3, ...small });
    expect(json.data).toHaveLength(1);
    // biome-ignore lint/correctness/useYield: it is stopped before there is anything.
    const script = async function* (): AsyncGenerator<ImageEvent> {
      throw new AppError('stopped', {});
    };
    expect((await world({ script }).generate({ prompt: 'a' })).status).toBe(409);
  });

  test('sends padding before a late reply if requested', async () => {
    const { startTimer, pass } = handTimer();
    const { promise, open } = latch();
    const script: FakeImageOptions['script'] = async function* (request) {
      await promise;
      yield* drawSquares(request);
    };
    const answer = world({ script }, { startTimer }).generate(
      { prompt: 'a', ...small },
      { headers: { 'x-koboldcpp-keepalive': 'true' } },
    );
    await new Promise((resolve) => setImmediate(resolve));
    pass(15_000);
    open();
    const { text, json } = await answer;
    expect(text.startsWith(' ')).toBe(true);
    expect(json.data).toHaveLength(1);
  });
});

test('previews are made for requests with a genkey, also for edits', async () => {
  const { generate, fake } = world();
  await generate({ prompt: 'a', ...small, genkey: 'mine' });
  await generate({ prompt: 'a', ...small });
  expect(fake.asked.map(({ request, requestContext }) => [requestContext.genkey, request.previewEvery])).toEqual([
    ['mine', 4],
    ['', 0],
  ]);
});

describe('images: stream', () => {
  test('has the requested partial images, and each picture when it is done', async () => {
    const { generate, fake } = world();
    const { headers, text } = await generate({
      prompt: 'a',
      ...small,
      n: 2,
      steps: 4,
      stream: true,
      partial_images: 1,
    });
    expect(headers['content-type']).toBe('text/event-stream');
    expect(fake.asked[0]?.request.previewEvery).toBe(2);
    expect(frames(text).map(({ event, data }) => [event, data.type, data.partial_image_index])).toEqual([
      ['image_generation.partial_image', 'image_generation.partial_image', 0],
      ['image_generation.completed', 'image_generation.completed', undefined],
      ['image_generation.partial_image', 'image_generation.partial_image', 0],
      ['image_generation.completed', 'image_generation.completed', undefined],
    ]);
    expect(frames(text).at(-1)?.data).toMatchObject({
      created_at: 1_700_000_000,
      size: '64x64',
      output_format: 'png',
      usage: { total_tokens: 1 },
    });
  });

  test('has no partial images by default', async () => {
    const { text } = await world().generate({ prompt: 'a', ...small, stream: true, output_format: 'jpeg' });
    expect(frames(text).map(({ event }) => event)).toEqual(['image_generation.completed']);
    expect(factsOf(String(frames(text)[0]?.data.b64_json))).toMatchObject({ format: 'jpeg' });
  });

  test('names its events image_edit for edits', async () => {
    const { text } = await world().edit({ prompt: 'a', image: url, stream: 'true' });
    expect(frames(text).map(({ event }) => event)).toEqual(['image_edit.completed']);
  });

  test('a failure before the first event keeps its status', async () => {
    // biome-ignore lint/correctness/useYield: it fails before there is anything.
    const script = async function* (): AsyncGenerator<ImageEvent> {
      throw new AppError('engine-lost', { capability: 'image' });
    };
    expect((await world({ script }).generate({ prompt: 'a', stream: true })).status).toBe(500);
  });

  test('a later failure is the last event', async () => {
    const { status, text } = await world({ script: stoppedAfterOne }).generate({
      prompt: 'a',
      ...small,
      n: 2,
      stream: true,
    });
    expect(status).toBe(200);
    const [first, second] = frames(text);
    expect(first?.event).toBe('image_generation.completed');
    expect(second?.data).toMatchObject({ error: { message: 'The request was stopped before it was done.' } });
  });
});

describe('POST /v1/images/edits', () => {
  test('accepts the files of a form', async () => {
    const { sendForm, fake } = world();
    const files = [
      { field: 'image', bytes: picture },
      { field: 'mask', bytes: hole },
    ];
    const { status, json } = await sendForm('/v1/images/edits', { prompt: 'a hat', n: '2', seed: '5' }, files);
    expect(status).toBe(200);
    expect(json.data).toHaveLength(2);
    const { request } = fake.asked[0] as (typeof fake.asked)[number];
    expect(request).toMatchObject({ prompt: 'a hat', count: 2, seed: 5, width: 128, height: 64, strength: 1 });
    expect(imageHeader(request.initial as Uint8Array)).toMatchObject({ width: 128, height: 64 });
    expect(await pixelAt(request.mask as Uint8Array, 5, 5)).toEqual([255]);
  });

  test('uses the first of several pictures', async () => {
    const { sendForm, fake } = world();
    const files = [
      { field: 'image[]', bytes: picture },
      { field: 'image[]', bytes: pngOf(64, 64) },
    ];
    const { headers } = await sendForm('/v1/images/edits', { prompt: 'a' }, files);
    expect(fake.asked[0]?.request).toMatchObject({ width: 128, height: 64, strength: 0.6 });
    expect(headers['x-parley-warnings']).toContain('only the first one is used');
  });

  test.each([
    [{ image: url }],
    [{ image: base64Of(picture) }],
    [{ images: [{ image_url: url }] }],
    [{ images: [{ image_url: { url } }] }],
    [{ image: [url] }],
  ])('accepts pictures in JSON (%#)', async (sent) => {
    const { edit, fake } = world();
    expect((await edit({ prompt: 'a', ...sent })).status).toBe(200);
    expect(fake.asked[0]?.request.initial).toBeDefined();
    expect(fake.asked[0]?.request.mask).toBeUndefined();
  });

  test('without a mask, repaints the transparent part of the picture', async () => {
    const { edit, fake } = world();
    await edit({ prompt: 'a', image: base64Of(hole) });
    expect(await pixelAt(fake.asked[0]?.request.mask as Uint8Array, 3, 3)).toEqual([255]);
  });

  test('repaints the white part of an opaque mask', async () => {
    const { edit, fake } = world();
    await edit({ prompt: 'a', image: url, mask: base64Of(pngOf(128, 64, [255, 255, 255])), denoising_strength: 0.4 });
    expect(await pixelAt(fake.asked[0]?.request.mask as Uint8Array, 3, 3)).toEqual([255]);
    expect(fake.asked[0]?.request.strength).toBe(0.4);
  });

  test.each([
    ['no picture', { prompt: 'a' }, 'image'],
    ['no prompt', { image: url }, 'prompt'],
    ['a mask of another size', { prompt: 'a', image: url, mask: base64Of(pngOf(64, 64)) }, 'mask'],
    ['an address', { prompt: 'a', image: 'http://127.0.0.1/a.png' }, 'image'],
    ['a file of another server', { prompt: 'a', images: [{ file_id: 'file-1' }] }, 'images[0].file_id'],
    ['an object without anything', { prompt: 'a', images: [{}] }, 'images[0].image_url'],
    ['broken base64', { prompt: 'a', image: '!!!' }, 'image'],
    ['half a picture', { prompt: 'a', image: base64Of(picture.subarray(0, 60)) }, 'image'],
  ])('rejects %s', async (_, body, param) => {
    const { edit, fake } = world();
    const { status, json } = await edit(body);
    expect(status).toBe(400);
    expect(json.error).toMatchObject({ param });
    expect(fake.asked).toEqual([]);
  });

  test('rejects a form without a picture, or with another file', async () => {
    const { sendForm } = world();
    expect((await sendForm('/v1/images/edits', { prompt: 'a' }, [])).json.error.param).toBe('image');
    const text = [{ field: 'image', bytes: Buffer.from('hello') }];
    expect((await sendForm('/v1/images/edits', { prompt: 'a' }, text)).json.error.message).toBe(
      'image must be a whole PNG, JPEG, WebP or GIF picture.',
    );
    const second = [
      { field: 'image[]', bytes: picture },
      { field: 'image[]', bytes: Buffer.from('hello') },
    ];
    expect((await sendForm('/v1/images/edits', { prompt: 'a' }, second)).json.error.param).toBe('image[1]');
  });
});

describe('POST /v1/images/variations', () => {
  test('draws from a picture without a prompt', async () => {
    const { sendForm, fake } = world();
    const { json } = await sendForm('/v1/images/variations', { size: '256x256' }, [{ field: 'image', bytes: picture }]);
    expect(json.size).toBe('256x256');
    expect(fake.asked[0]?.request).toMatchObject({ prompt: '', strength: 0.6 });
    expect(fake.asked[0]?.request.initial).toBeDefined();
  });

  test('rejects a request without a picture', async () => {
    expect((await world().sendForm('/v1/images/variations', {}, [])).status).toBe(400);
  });
});
