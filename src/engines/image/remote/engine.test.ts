import { describe, expect, test } from 'vitest';
import { AppError } from '../../../core/errors.ts';
import type { ImageEvent, ImageFacts, ImageRequest } from '../../../core/image.ts';
import { edited } from '../../pictures/worker/edit.ts';
import { sketchFacts } from '../facts.ts';
import { readPicture, writePng } from '../pictures/codec.ts';
import { imageRequest } from '../testing/request.ts';
import { RemoteImage } from './engine.ts';
import type { RemoteServer } from './server.ts';

const facts: ImageFacts = sketchFacts('/far');
const png = await writePng({ data: new Uint8Array(8 * 8 * 3).fill(7), width: 8, height: 8, channels: 3 });
const never = new AbortController().signal;

async function world(behave: Partial<RemoteServer> = {}, connect?: () => Promise<RemoteServer>) {
  const asked: { seed: number; count: number }[] = [];
  const told: string[] = [];
  let stops = 0;
  const server: RemoteServer = {
    facts: async () => facts,
    draw: async ({ request, progress }) => {
      asked.push({ seed: request.seed, count: request.count });
      progress(1, request.steps);
      return { bytes: png, seed: request.seed };
    },
    upscale: async () => png,
    stop: async () => {
      stops += 1;
    },
    ...behave,
  };
  const engine = new RemoteImage({
    connect: connect ?? (async () => server),
    editor: { edit: (edit, pictures) => edited(edit, pictures) },
    observer: { loaded: ({ name }) => told.push(`loaded ${name}`), failed: (reason) => told.push(reason) },
  });
  engine.start();
  await engine.settled();
  const draw = async (changes: Partial<ImageRequest> = {}, signal = never) => {
    const events: ImageEvent[] = [];
    for await (const event of engine.draw(imageRequest(changes), signal)) events.push(event);
    return events;
  };
  return { engine, asked, told, draw, stops: () => stops };
}

describe('connecting', () => {
  test('makes it ready, with what the other server has', async () => {
    const { engine, told } = await world();
    expect([engine.state(), engine.facts(), told]).toEqual([{ type: 'ready' }, facts, [`loaded ${facts.name}`]]);
  });

  test('that fails is told with the reason alone', async () => {
    const away = new AppError('engine-down', { capability: 'image', reason: 'it is away', retryAfterSeconds: 1 });
    const { engine, told } = await world({}, () => Promise.reject(away));
    expect([engine.state(), told]).toEqual([{ type: 'failed', reason: 'it is away' }, ['it is away']]);
    await expect(engine.draw(imageRequest(), never).next()).rejects.toThrow('it is not connected');
  });

  test('that is over is no more', async () => {
    const { engine } = await world();
    await engine.stop();
    expect(engine.state()).toEqual({ type: 'stopped' });
  });
});

describe('drawing', () => {
  test('asks for one picture after the other, with seeds that count up', async () => {
    const { draw, asked } = await world();
    const events = await draw({ count: 2, seed: 5 });
    expect(asked).toEqual([
      { seed: 5, count: 1 },
      { seed: 6, count: 1 },
    ]);
    expect(events.map(({ type }) => type)).toEqual(['progress', 'picture', 'progress', 'picture', 'finish']);
    expect(events[3]).toMatchObject({ index: 1, seed: 6 });
  });

  test('fails as the other server does, and takes nothing for a picture that is none', async () => {
    const none = await world({ draw: () => Promise.reject(new Error('gave no picture')) });
    await expect(none.draw()).rejects.toThrow('gave no picture');
    const broken = await world({ draw: async () => ({ bytes: Uint8Array.of(1), seed: 1 }) });
    await expect(broken.draw()).rejects.toThrow('must be a picture');
  });

  test('that somebody stops is stopped there, and ends with the reason', async () => {
    const stop = new AbortController();
    const own = await world({
      draw: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          stop.abort(new AppError('stopped', {}));
        }),
    });
    await expect(own.draw({}, stop.signal)).rejects.toMatchObject({ code: 'stopped' });
    expect(own.stops()).toBe(1);
  });

  test('that nobody reads any more is stopped there too', async () => {
    const own = await world({
      draw: ({ signal, progress }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => reject(new Error('aborted')));
          progress(1, 2);
        }),
    });
    for await (const event of own.engine.draw(imageRequest(), never)) {
      expect(event.type).toBe('progress');
      break;
    }
    expect(own.stops()).toBe(1);
  });
});

test('what is enlarged has the size that was asked for, whatever came', async () => {
  const { engine } = await world();
  const larger = await engine.upscale({ picture: png, upscaler: 'x', width: 20, height: 10 }, never);
  expect(await readPicture({ bytes: larger, field: 'x' })).toMatchObject({ width: 20, height: 10 });
});
