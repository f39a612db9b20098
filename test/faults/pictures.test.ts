import { setTimeout as wait } from 'node:timers/promises';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type LiveServer, liveServers } from '../live/server.ts';

/** Pictures and graphs that are wrong in every way that a client can send, to a server whose engine must live through all. */
const startServer = liveServers();
const side = 64;
const quick = { width: side, height: side, steps: 1, cfg_scale: 1 };

let server: LiveServer;
let engine: number | undefined;
let whole: Buffer;
beforeAll(async () => {
  server = await startServer(['--threads', '2']);
  whole = await sharp({ create: { width: side, height: side, channels: 3, background: '#d02020' } })
    .png()
    .toBuffer();
  await draws();
  engine = server.worker('image');
  expect(engine).toEqual(expect.any(Number));
});
afterEach(() => expect(server.worker('image')).toBe(engine));

async function post(path: string, body: object | FormData) {
  const sent = body instanceof FormData ? body : JSON.stringify(body);
  const reply = await fetch(`${server.base}${path}`, { method: 'POST', body: sent });
  // biome-ignore lint/suspicious/noExplicitAny: as a client without types sees it.
  return { status: reply.status, json: (await reply.json()) as any };
}
async function draws(body: object = {}) {
  const { status, json } = await post('/sdapi/v1/txt2img', { prompt: 'a star', ...quick, ...body });
  expect(status).toBe(200);
  return sharp(Buffer.from(json.images[0], 'base64')).metadata();
}
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const numbers = Buffer.alloc(8);
  numbers.writeUInt32BE(data.length, 0);
  numbers.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([numbers.subarray(0, 4), named, numbers.subarray(4)]);
}

/** A PNG that says this of itself, with these pixels, whatever they are. */
function png(width: number, height: number, pixels: Buffer): Buffer {
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // One grey bit for each pixel.
  head.set([1, 0, 0, 0, 0], 8);
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', head), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}
const blank = (width: number, height: number) =>
  png(width, height, deflateSync(Buffer.alloc(height * (width / 8 + 1))));

/** Half of it is gone; some kinds end all the same as if nothing were missing. */
async function cut(format: 'jpeg' | 'webp' | 'gif'): Promise<Buffer> {
  const noise = Buffer.from(Array.from({ length: side * side * 3 }, (_, index) => (index * 7919) % 251));
  const image = sharp(noise, { raw: { width: side, height: side, channels: 3 } });
  const bytes = await image.toFormat(format).toBuffer();
  const half = bytes.subarray(0, bytes.length >> 1);
  if (format === 'jpeg') return half;
  if (format === 'gif') return Buffer.concat([half, Buffer.from([0x3b])]);
  half.writeUInt32LE(half.length - 8, 4);
  return half;
}

const broken: readonly (readonly [what: string, picture: () => Buffer | Promise<Buffer>])[] = [
  ['nothing', () => Buffer.alloc(0)],
  ['words', () => Buffer.from('this is no picture')],
  ['a vector picture', () => Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
  ['a truncated PNG', () => whole.subarray(0, -20)],
  ['a PNG with missing pixels', () => png(side, side, deflateSync(Buffer.alloc(9)))],
  ['a PNG with invalid pixel data', () => png(side, side, Buffer.from('nonsense'))],
  ['a PNG of width 0', () => png(0, side, deflateSync(Buffer.alloc(64)))],
  ['a truncated JPEG', () => cut('jpeg')],
  ['a truncated WebP', () => cut('webp')],
  ['a truncated GIF', () => cut('gif')],
  ['a decompression bomb', () => blank(16_384, 16_384)],
  ['a PNG with a false size in its header', () => png(2 ** 31 - 1, 2 ** 31 - 1, deflateSync(Buffer.alloc(99)))],
];

describe.each(broken)('%s', (_, makeImage) => {
  test('is refused as an image in every dialect', async () => {
    const picture = await makeImage();
    const image = base64(picture);
    const form = () => {
      const body = new FormData();
      body.append('image', new Blob([new Uint8Array(picture)]), 'photo.png');
      body.append('prompt', 'a star');
      return body;
    };
    const refusals = [
      await post('/sdapi/v1/img2img', { prompt: 'a', ...quick, init_images: [image || 'x'] }),
      await post('/sdapi/v1/img2img', { prompt: 'a', ...quick, init_images: [base64(whole)], mask: image || 'x' }),
      await post('/sdapi/v1/extra-single-image', { image, upscaling_resize: 2 }),
      await post('/sdapi/v1/extra-batch-images', { imageList: [{ data: image, name: 'a' }], upscaling_resize: 2 }),
    ];
    for (const { status, json } of refusals) {
      expect([status, json.detail.type], JSON.stringify(json)).toEqual([422, 'bad_input']);
    }
    for (const path of ['edits', 'variations']) {
      const { status, json } = await post(`/v1/images/${path}`, form());
      expect([status, json.error.type, json.error.param]).toEqual([400, 'invalid_request_error', 'image']);
    }
    // What the store takes unread, the prompt that wants it tells of.
    const { status, json } = await post('/upload/image', form());
    if (status === 200) expect(await historyOf(from(json.name))).toMatchObject({ status_str: 'error' });
    else expect([status, json.error.type]).toEqual([400, 'invalid_prompt']);
  });
});

const nodes = (more: object = {}) => ({
  '3': { class_type: 'KSampler', inputs: { ...quick, cfg: 1, positive: ['6', 0], latent_image: ['5', 0] } },
  '5': { class_type: 'EmptyLatentImage', inputs: { width: side, height: side } },
  '6': { class_type: 'CLIPTextEncode', inputs: { text: 'a star' } },
  '9': { class_type: 'SaveImage', inputs: { images: ['3', 0] } },
  ...more,
});
const from = (image: string) =>
  nodes({
    '5': { class_type: 'VAEEncode', inputs: { pixels: ['10', 0] } },
    '10': { class_type: 'LoadImage', inputs: { image } },
  });

async function historyOf(prompt: object) {
  const { status, json } = await post('/prompt', { prompt });
  expect(status, JSON.stringify(json)).toBe(200);
  for (;;) {
    // biome-ignore lint/suspicious/noExplicitAny: as a client without types sees it.
    const history = (await (await fetch(`${server.base}/history/${json.prompt_id}`)).json()) as any;
    const entry = history[json.prompt_id];
    if (entry) return entry.status;
    await wait(10);
  }
}

test('img2img: accepts an image just below the size limit, and other requests are answered meanwhile', async () => {
  const large = base64(blank(8000, 8000));
  const generation = draws({ init_images: [large] });
  expect((await fetch(`${server.base}/api/extra/version`)).status).toBe(200);
  expect(await generation).toMatchObject({ width: side, height: side });
});

test('mask of another size: OpenAI refuses it, the other dialects scale it', async () => {
  const mask = await sharp(whole).resize(16, 48).png().toBuffer();
  const body = new FormData();
  body.append('image', new Blob([new Uint8Array(whole)]), 'a.png');
  body.append('mask', new Blob([new Uint8Array(mask)]), 'b.png');
  body.append('prompt', 'a star');
  const { status, json } = await post('/v1/images/edits', body);
  expect([status, json.error.param]).toEqual([400, 'mask']);
  expect(json.error.message).toContain('64x64, and not 16x48');
  expect(await draws({ init_images: [base64(whole)], mask: base64(mask) })).toMatchObject({ width: side });
});

test('sizes, steps and counts out of range: are clamped', async () => {
  const request = { width: 0, height: '-1e300', steps: 0, batch_size: 0, n_iter: -1 };
  expect(await draws(request)).toMatchObject({ width: side, height: side });
});

test.each([
  ['size 0', { '5': { class_type: 'EmptyLatentImage', inputs: { width: 0, height: 0 } } }],
  ['a huge size', { '5': { class_type: 'EmptyLatentImage', inputs: { width: 1e9, height: 1e9 } } }],
  ['batch size 0', { '5': { class_type: 'EmptyLatentImage', inputs: { batch_size: 0 } } }],
  ['a link to a missing node', { '9': { class_type: 'SaveImage', inputs: { images: ['404', 0] } } }],
  ['a cycle', { '5': { class_type: 'LatentUpscaleBy', inputs: { samples: ['5', 0] } } }],
  ['a node without a class', { '5': { inputs: {} } }],
  ['an unknown class', { '5': { class_type: '__proto__', inputs: {} } }],
  ['a relative path outside the store', from('../../../../etc/passwd')],
  ['an absolute path', from('/etc/passwd [input]')],
])('ComfyUI graph with %s: is refused in the form of ComfyUI', async (_, more) => {
  const { status, json } = await post('/prompt', { prompt: nodes(more) });
  expect(status).toBe(400);
  expect(json).toMatchObject({ error: { type: expect.any(String), message: expect.any(String) } });
});

test.each([
  '../secret.png',
  '..\\secret.png',
  'a/../../b.png',
  '/etc/cron.d/evil',
  'C:\\evil.png',
  '.',
  '..',
  'a\0.png',
])('upload named %j: is stored only in the file store', async (name) => {
  for (const fields of [
    { name, subfolder: '' },
    { name: 'a.png', subfolder: name },
  ]) {
    const body = new FormData();
    body.append('image', new Blob([new Uint8Array(whole)]), fields.name);
    body.append('subfolder', fields.subfolder);
    const { status, json } = await post('/upload/image', body);
    if (status === 200) expect(`${json.subfolder}/${json.name}`).not.toMatch(/\.\.|\\|^\/[^/]*\/|\0/);
    else expect([status, json.error.type]).toEqual([400, expect.stringMatching(/^invalid_(prompt|request)$/)]);
    const query = new URLSearchParams({ filename: fields.name, subfolder: fields.subfolder, type: 'input' });
    const view = await fetch(`${server.base}/view?${query}`);
    if (view.status === 200) expect(Buffer.from(await view.arrayBuffer()).equals(whole)).toBe(true);
    else expect([400, 404]).toContain(view.status);
  }
});
