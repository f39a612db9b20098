import type { ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { ImageEvent, ImageRequest } from '../../../core/image.ts';
import { imageRequest } from '../../image/testing/request.ts';
import { poolOf } from '../testing/backend-pool.ts';
import { type Handler, json, upstream } from '../testing/upstream.ts';
import { ImageServerEngine } from './engine.ts';
import { identifyImageServer } from './identify.ts';
import { defaultImageFacts, type ImageServer } from './server.ts';

const never = new AbortController().signal;
const base64 = (text: string) => Buffer.from(text).toString('base64');
const image = (text: string) => json({ images: [base64(text)], info: '{}' });
const facts = { ...defaultImageFacts, name: 'x', title: 'x', path: 'x', samplers: [], schedulers: [], upscalers: [] };
const lists = { '/sdapi/v1/samplers': json([{ name: 'Heun' }]), '/sdapi/v1/interrupt': json({}) };

/** Fake picture editor: every text that begins with "png" is a picture. */
async function asPng(bytes: Uint8Array, size?: { width: number; height: number }) {
  const text = Buffer.from(bytes).toString();
  if (!text.startsWith('png')) throw new Error('it is no picture.');
  return { png: Buffer.from(size ? `${text} ${size.width}x${size.height}` : text), width: 64, height: 64 };
}

async function world(handlers: Readonly<Record<string, Handler>> = {}, options = '') {
  const one = await upstream({ ...lists, '/sdapi/v1/txt2img': image('png'), ...handlers });
  const watch = poolOf([one.address(`,for=images${options}`)], {}, (connection) =>
    identifyImageServer(connection, undefined),
  );
  const engine = new ImageServerEngine(watch.pool, { asPng });
  engine.start();
  await engine.settled();
  const generate = async (changes: Partial<ImageRequest> = {}, signal = never) => {
    const events: ImageEvent[] = [];
    for await (const event of engine.generate(imageRequest(changes), signal)) events.push(event);
    return events;
  };
  return { ...watch, engine, one, generate };
}

describe('RemoteDrawing: backend', () => {
  test('has its facts after the first probe', async () => {
    const { engine, lines, one, tick } = await world();
    expect(engine.facts()?.samplers).toEqual(['Heun']);
    expect(lines).toEqual([`The remote backend at ${one.host} is ready (A1111): remote`]);
    // One that draws may not answer meanwhile, and so its health is not asked for.
    expect(tick()).toBeUndefined();
  });

  test('is a 503 while it is not reachable', async () => {
    const { engine, one, generate, pool, tick } = await world({ '/sdapi/v1/samplers': json({}, 503) });
    expect(engine.facts()).toBeUndefined();
    await expect(generate()).rejects.toMatchObject({ code: 'remote-down', status: 503 });
    one.become({ ...lists, '/sdapi/v1/txt2img': image('png') });
    tick();
    await expect.poll(() => pool.backends[0]?.state.type).toBe('up');
    expect((await generate()).map(({ type }) => type)).toEqual(['image', 'finish']);
  });

  test('fails the request with its address when it goes down, and is checked again', async () => {
    const { one, generate, tick } = await world();
    await one.die();
    await expect(generate()).rejects.toMatchObject({
      status: 503,
      message: `The remote backend at ${one.base} is not reachable: connection refused.`,
    });
    expect(tick()).toBe(250);
  });
});

describe('RemoteDrawing.draw', () => {
  test('requests one picture after the other, with increasing seeds', async () => {
    const { generate, one } = await world();
    const events = await generate({ count: 2, seed: 5 });
    expect(one.asked('/sdapi/v1/txt2img').map(({ body }) => body.seed)).toEqual([5, 6]);
    expect(events.map(({ type }) => type)).toEqual(['image', 'image', 'finish']);
    expect(events[1]).toMatchObject({ index: 1, seed: 6 });
  });

  test('finish has the sampler that sd-server used, and a note for an unknown one', async () => {
    const { generate } = await world({ '/sdcpp/v1/capabilities': json({ defaults_by_mode: {} }) });
    expect((await generate({ sampler: 'Restart', scheduler: 'automatic', count: 2 })).at(-1)).toMatchObject({
      type: 'finish',
      sampler: 'Heun',
      notes: ['There is no sampler "Restart"; Heun was taken.'],
    });
  });

  test('sends the fields that its address passes on, and no others', async () => {
    const { engine, one } = await world({}, ',pass=cnet_*');
    const passed: string[] = [];
    const fields = { cnet_image: 'abc', eta: 1 };
    const sent = { fields, passed: (names: readonly string[]) => passed.push(...names) };
    for await (const _ of engine.generate(imageRequest({}), never, { sent }));
    const body = one.asked('/sdapi/v1/txt2img')[0]?.body;
    expect(body).toMatchObject({ cnet_image: 'abc', prompt: expect.any(String) });
    expect(body).not.toHaveProperty('eta');
    expect(passed).toEqual(['cnet_image']);
  });

  test('a preview of any format becomes a PNG, and one that cannot be read is left out', async () => {
    const converted = () => new Promise((resolve) => setImmediate(resolve));
    const png = Uint8Array.of(0x89, 0x50, 0x4e, 0x47);
    const server: ImageServer = {
      facts: async () => facts,
      upscale: async ({ image: same }) => same,
      stop: async () => undefined,
      generate: async ({ seed }, _, progress) => {
        progress(1, 4, Buffer.from('broken'));
        await converted();
        progress(2, 4, Buffer.from('png of a JPEG'));
        // Dropped: the one before it is still being converted.
        progress(3, 4, Buffer.from('png of another'));
        await converted();
        progress(4, 4, png);
        return { bytes: Buffer.from('png'), seed };
      },
    };
    const model = { id: 'x', name: 'x', contextSize: undefined, embeds: false };
    const identity = { kind: 'a1111', models: [model], inputs: { image: true, audio: false } } as const;
    const one = await upstream({});
    const { pool } = poolOf([one.address(',for=images')], {}, async () => ({
      ...identity,
      imageServer: { server, facts },
    }));
    const engine = new ImageServerEngine(pool, { asPng });
    engine.start();
    await engine.settled();
    const seen: unknown[] = [];
    for await (const event of engine.generate(imageRequest({}), never)) {
      if (event.type === 'progress')
        seen.push([event.step, event.preview && Buffer.from(event.preview).toString('latin1')]);
    }
    expect(seen).toEqual([
      [1, undefined],
      [2, undefined],
      [3, undefined],
      [2, 'png of a JPEG'],
      [4, '\x89PNG'],
    ]);
  });

  test('an unreadable picture is a 502', async () => {
    const { generate, one } = await world({ '/sdapi/v1/txt2img': image('text') });
    await expect(generate()).rejects.toMatchObject({
      code: 'remote-answer',
      status: 502,
      message: `The remote backend at ${one.host} sent an answer that cannot be used: the picture cannot be read: it is no picture.`,
    });
  });

  test('an endless response is aborted, and its connection closed', async () => {
    const sent = { megabytes: 0, closed: false };
    const flood = (_: unknown, response: ServerResponse): void => {
      const piece = Buffer.alloc(2 ** 20, 'x');
      response.on('close', () => {
        sent.closed = true;
      });
      const more = (): void => {
        while (!sent.closed && sent.megabytes < 512) {
          sent.megabytes += 1;
          if (!response.write(piece)) return;
        }
      };
      response.on('drain', more);
      more();
    };
    const { generate } = await world({ '/sdapi/v1/txt2img': flood });
    await expect(generate()).rejects.toThrow('it is larger than 128 MB');
    await expect.poll(() => sent.closed).toBe(true);
    expect(sent.megabytes).toBeLessThan(256);
  });

  test('does not follow a redirect', async () => {
    const other = await upstream({ '/sdapi/v1/txt2img': image('png') });
    const away: Handler = (_, response) => {
      response.writeHead(307, { location: `${other.base}/sdapi/v1/txt2img` }).end();
    };
    const { generate } = await world({ '/sdapi/v1/txt2img': away });
    await expect(generate()).rejects.toThrow('redirects are not followed');
    expect(other.received).toEqual([]);
  });

  test('an abort interrupts the backend and rejects with its reason', async () => {
    const stop = new AbortController();
    const { generate, one } = await world({ '/sdapi/v1/txt2img': () => stop.abort(new AppError('stopped', {})) });
    await expect(generate({}, stop.signal)).rejects.toMatchObject({ code: 'stopped' });
    await expect.poll(() => one.asked('/sdapi/v1/interrupt').length).toBe(1);
  });

  test('ending the iteration interrupts the backend', async () => {
    const progress = json({ state: { sampling_step: 1, sampling_steps: 2, job_no: 0 } });
    const { engine, one } = await world({
      '/sdapi/v1/txt2img': () => undefined,
      '/sdapi/v1/progress?skip_current_image=true': progress,
    });
    for await (const event of engine.generate(imageRequest(), never)) {
      expect(event.type).toBe('progress');
      break;
    }
    await expect.poll(() => one.asked('/sdapi/v1/interrupt').length).toBe(1);
  });
});

test('RemoteDrawing.upscale: has the requested size for any response', async () => {
  const { engine } = await world({ '/sdapi/v1/extra-single-image': json({ image: base64('png') }) });
  const larger = await engine.upscale({ image: Uint8Array.of(1), upscaler: 'x', width: 20, height: 10 }, never);
  expect(Buffer.from(larger).toString()).toBe('png 20x10');
});
