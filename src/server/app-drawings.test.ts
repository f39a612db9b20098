import { expect, test } from 'vitest';
import { chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { noTemplate } from '../chat/prompt.ts';
import { defaultSettings } from '../config/flags.ts';
import { Channel } from '../core/channel.ts';
import type { ImageEngine, ImageEvent } from '../core/image.ts';
import { fixedTextSource } from '../core/text-service.ts';
import { noTextEngine } from '../engines/none.ts';
import { stockBody } from '../protocols/comfy/testing/graphs.ts';
import { asked } from '../protocols/testing/asked.ts';
import { bindAll } from '../protocols/testing/bind.ts';
import { imageFacts, inProcessEditor, pngOf } from '../protocols/testing/pictures.ts';
import { type AppDeps, createApp } from './app.ts';
import type { ModelContext } from './model-context.ts';
import type { ModelSetup } from './model-setup.ts';

const later = () => new Promise((resolve) => setImmediate(resolve));

/** Two models behind one server, each with an image engine that the test controls. */
async function world(multiuser = 10) {
  const adapter = chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined);
  const engines = new Map<string, Channel<ImageEvent>[]>();
  const modelSetup = (name: string): ModelSetup => {
    const drawn: Channel<ImageEvent>[] = [];
    engines.set(name, drawn);
    const engine: ImageEngine = {
      facts: () => imageFacts,
      generate: (_, signal) => {
        const events = new Channel<ImageEvent>();
        signal.addEventListener('abort', () => events.end());
        drawn.push(events);
        return (async function* () {
          yield* events;
          signal.throwIfAborted();
        })();
      },
      upscale: async ({ width, height }) => pngOf(width, height),
    };
    const use = async () => ({ engine, release: () => undefined });
    const image = { name, use, peek: () => engine, state: () => ({ type: 'ready' }) as const, facts: imageFacts };
    return {
      name,
      settings: { ...defaultSettings, multiuser },
      source: fixedTextSource(noTextEngine(4096)),
      format: { adapter, templateText: undefined, template: async () => undefined, templateUse: noTemplate },
      taskSources: { image },
    };
  };
  let present: ModelContext;
  const parts: AppDeps = {
    ...modelSetup('a'),
    resolve: async () => ({ context: present, release: () => undefined }),
    editor: inProcessEditor,
    product: { name: 'Parley', version: '1.2.3' },
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  };
  const app = createApp(parts);
  const models = { a: app.context, b: app.contextOf(modelSetup('b')) };
  present = models.a;
  const swap = (name: 'a' | 'b') => {
    present = models[name];
  };
  const draw = (name: 'a' | 'b', body: object = {}) => {
    swap(name);
    return asked(bindAll(app.modelEndpoints, models[name]), 'POST', '/sdapi/v1/txt2img', {
      prompt: 'a',
      steps: 8,
      ...body,
    });
  };
  const tell = (name: string, event: ImageEvent, at = -1) => engines.get(name)?.at(at)?.push(event);
  return {
    swap,
    draw,
    tell,
    drawn: (name: string) => engines.get(name)?.length ?? 0,
    finish: (name: string, at = -1) => {
      tell(name, { type: 'image', index: 0, seed: 1, png: pngOf(8, 8) }, at);
      engines.get(name)?.at(at)?.end();
    },
    get: (target: string) => asked(app.endpoints, 'GET', target),
    post: (target: string, body: object = {}) => asked(app.endpoints, 'POST', target, body),
  };
}

const step = (done: number): ImageEvent => ({ type: 'progress', step: done, steps: 8 });

test('sdapi: progress covers the drawings of all models: the oldest without a key, and each by its key', async () => {
  const { draw, tell, get, finish } = await world();
  const first = draw('a', { genkey: 'one' });
  await later();
  const second = draw('b', { genkey: 'two' });
  await later();
  tell('a', step(6));
  tell('b', step(2));
  await later();
  const steps = async (query = '') => (await get(`/sdapi/v1/progress${query}`)).json.state.sampling_step;
  expect([await steps(), await steps('?genkey=one'), await steps('?genkey=two')]).toEqual([6, 6, 2]);
  finish('a');
  await first;
  expect([await steps(), await steps('?genkey=one'), await steps('?genkey=two')]).toEqual([2, 0, 2]);
  finish('b');
  await second;
});

test('sdapi: interrupt without a key ends the drawings of all models', async () => {
  const { draw, post, swap } = await world();
  const both = [draw('a')];
  await later();
  both.push(draw('b'));
  await later();
  swap('b');
  await post('/sdapi/v1/interrupt');
  expect((await Promise.all(both)).map(({ status, json }) => [status, json.images])).toEqual([
    [200, []],
    [200, []],
  ]);
});

test('sdapi: interrupt with a genkey ends only the drawing with that key', async () => {
  const { draw, post, finish } = await world();
  const first = draw('a', { genkey: 'one' });
  await later();
  const second = draw('b', { genkey: 'two' });
  await later();
  await post('/sdapi/v1/interrupt?genkey=one');
  expect((await first).json.images).toEqual([]);
  finish('b');
  expect((await second).json.images).toHaveLength(1);
});

test('sdapi: skip continues with the next picture of all drawings', async () => {
  const { draw, drawn, post, finish } = await world();
  const both = [draw('a', { batch_size: 2 })];
  await later();
  both.push(draw('b', { batch_size: 2 }));
  await later();
  await post('/sdapi/v1/skip');
  await later();
  expect([drawn('a'), drawn('b')]).toEqual([2, 2]);
  finish('a');
  finish('b');
  expect((await Promise.all(both)).map(({ json }) => json.images.length)).toEqual([1, 1]);
});

test('sdapi: get_last.json finds a picture whichever model is selected', async () => {
  const { draw, finish, get } = await world();
  const first = draw('a', { genkey: 'one' });
  await later();
  finish('a');
  await first;
  const second = draw('b', { genkey: 'two' });
  await later();
  expect((await get('/sdapi/v1/get_last.json?genkey=one')).json.images).toHaveLength(1);
  finish('b');
  await second;
});

test('comfy: /queue, /prompt and /api/extra/perf count the same prompts, and --multiuser bounds them', async () => {
  const { post, get } = await world(3);
  for (let count = 0; count < 3; count++) expect((await post('/prompt', stockBody())).status).toBe(200);
  const { queue_running: running, queue_pending: pending } = (await get('/queue')).json;
  const { json: perf } = await get('/api/extra/perf');
  expect([perf.queue, (await get('/prompt')).json.exec_info.queue_remaining]).toEqual([2, 3]);
  expect(running.length + pending.length).toBe(3);
  const refused = await post('/prompt', stockBody());
  expect([refused.status, refused.json.node_errors]).toEqual([503, {}]);
  await post('/queue', { clear: true });
  await later();
  expect((await get('/api/extra/perf')).json.queue).toBe(0);
});
