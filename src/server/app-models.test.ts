import { describe, expect, test } from 'vitest';
import { chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { noTemplate } from '../chat/prompt.ts';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { modelId } from '../core/model-names.ts';
import type { ListedModel } from '../core/models-view.ts';
import type { GenerationRequest } from '../core/request.ts';
import { fixedTextSource } from '../core/text-service.ts';
import { fakeEngine } from '../engines/testing/fake-engine.ts';
import { router } from '../http/router.ts';
import { callOf } from '../protocols/testing/doubles.ts';
import { type AppDeps, createApp } from './app.ts';
import type { ModelContext } from './model-context.ts';
import type { ModelSetup } from './model-setup.ts';

const later = () => new Promise((resolve) => setImmediate(resolve));
const listed = (name: string): ListedModel => ({
  name,
  id: modelId(name),
  present: name === 'a',
  state: 'ready',
  expiresAt: Number.POSITIVE_INFINITY,
});

/** Two models behind one server. The test selects the default one, and lets the engines go on step by step. */
async function world(first: Partial<Settings>, second: Partial<Settings>) {
  const steps: (() => void)[] = [];
  const sizes: number[] = [];
  const adapter = chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined);
  const modelSetup = (name: string, own: Partial<Settings>): ModelSetup => {
    const engine = fakeEngine({
      script: () => ({ pieces: ['Hello'], end: 'end-token' }),
      pace: (go) => steps.push(go),
      contextSize: own.contextsize ?? 4096,
    });
    return {
      name,
      settings: { ...defaultSettings, ...own },
      source: fixedTextSource(engine),
      format: { adapter, templateText: undefined, template: async () => undefined, templateUse: noTemplate },
    };
  };
  const [a, b] = [modelSetup('a', first), modelSetup('b', second)];
  let present: { readonly context: ModelContext; readonly settings: Settings };
  const parts: AppDeps = {
    ...a,
    resolve: async () => ({ context: present.context, release: () => undefined }),
    models: { byName: true, swap: undefined, list: async () => [listed('a'), listed('b')] },
    presentSettings: () => present.settings,
    product: { name: 'Parley', version: '1.2.3' },
    observer: { begun: (_: GenerationRequest, __, contextSize) => void sizes.push(contextSize) },
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  };
  const app = createApp(parts);
  const models = { a: { context: app.context, ...a }, b: { context: app.contextOf(b), ...b } };
  present = models.a;
  const open = async (method: string, address: string, body: object | '' = '') => {
    const [path = '', query] = address.split('?');
    const endpoint = router(app.endpoints).find(method, path);
    return endpoint?.handle(callOf(path, body, { method, ...(query ? { query: new URLSearchParams(query) } : {}) }));
  };
  const ask = async (method: string, address: string, body: object | '' = '') => {
    const reply = await open(method, address, body);
    return reply && 'body' in reply ? String(reply.body) : '';
  };
  return {
    models,
    sizes,
    swap: (name: 'a' | 'b') => {
      present = models[name];
    },
    get: (path: string) => ask('GET', path),
    ask,
    open,
    generate: (genkey: string) => ask('POST', '/api/v1/generate', { prompt: 'Hi', max_length: 9, genkey }),
    async finish(replies: readonly Promise<unknown>[]) {
      let over = false;
      const all = Promise.all(replies).then(() => {
        over = true;
      });
      while (!over) {
        steps.shift()?.();
        await later();
      }
      await all;
    },
  };
}

test('routed app: slots and server information are those of the selected model', async () => {
  const { get, swap, generate, finish } = await world({ contextsize: 1024 }, { parallelrequests: 3, contextsize: 512 });
  const seen = async () => {
    const slots = JSON.parse(await get('/slots')) as { n_ctx: number; is_processing: boolean }[];
    const props = JSON.parse(await get('/props')) as { total_slots: number; n_ctx: number };
    return {
      slots: slots.map((one) => [one.n_ctx, one.is_processing]),
      places: props.total_slots,
      context: props.n_ctx,
    };
  };
  const one = generate('one');
  await later();
  expect(await seen()).toEqual({ slots: [[1024, true]], places: 1, context: 1024 });
  swap('b');
  const idle = [512, false];
  expect(await seen()).toEqual({ slots: [idle, idle, idle], places: 3, context: 512 });
  const two = generate('two');
  await later();
  expect((await seen()).slots).toEqual([[512, true], idle, idle]);
  await finish([one, two]);
});

test('routed app: the request log has the context size of the selected model', async () => {
  const { generate, swap, finish, sizes } = await world({ contextsize: 1024 }, { contextsize: 512 });
  const one = generate('one');
  await later();
  swap('b');
  await finish([one, generate('two')]);
  expect(sizes).toEqual([1024, 512]);
});

test('routed app: the queue size is that of the default model', async () => {
  const { generate, swap, finish } = await world({ multiuser: 0 }, { multiuser: 0, parallelrequests: 4 });
  const busy = (reply: Promise<string>) => reply.then(String, (error: { code: string }) => error.code);
  const first = generate('first');
  await later();
  expect(await busy(generate('second'))).toBe('busy');
  swap('b');
  const more = ['third', 'fourth'].map((key) => generate(key));
  await later();
  swap('a');
  expect(await busy(generate('fifth'))).toBe('busy');
  await finish([first, ...more]);
});

test('routed app: metrics are labelled by model, and the wait is that of the default model', async () => {
  const { get, generate, swap, finish } = await world({ multiuser: 5 }, { multiuser: 5 });
  const estimate = async () => Number(/^parley_queue_estimate_seconds (\d+)$/m.exec(await get('/metrics'))?.[1]);
  const one = generate('one');
  await later();
  expect(await estimate()).toBeGreaterThan(0);
  expect(JSON.parse(await get('/api/extra/perf')).queue_estimate).toBeGreaterThan(0);
  swap('b');
  // Its engine is idle, so there is no wait.
  expect(await estimate()).toBe(0);
  await finish([one, generate('two'), generate('three')]);
  const metrics = await get('/metrics');
  expect(metrics).toContain('llamacpp:tokens_predicted_total{model="a"} 1\n');
  expect(metrics).toContain('llamacpp:tokens_predicted_total{model="b"} 2\n');
  expect(metrics).toContain('parley_model_ready{model="b"} 1\n');
});

describe('routed app: background responses of a model that is not the default', () => {
  async function begun() {
    const server = await world({}, {});
    server.swap('b');
    const request = { input: 'Hi', model: 'b', background: true };
    const { id, status } = JSON.parse(await server.ask('POST', '/v1/responses', request));
    expect(status).toBe('queued');
    await later();
    server.swap('a');
    return { ...server, id: String(id) };
  }

  test('/cancel stops the generation', async () => {
    const { ask, id, get } = await begun();
    expect(JSON.parse(await get(`/v1/responses/${id}`))).toMatchObject({ status: 'in_progress' });
    expect(JSON.parse(await ask('POST', `/v1/responses/${id}/cancel`))).toMatchObject({ id, status: 'cancelled' });
    expect(JSON.parse(await get(`/v1/responses/${id}`))).toMatchObject({ status: 'cancelled' });
    expect(JSON.parse(await get('/api/extra/perf')).idle).toBe(1);
  });

  test('a stream waits for the end and yields the whole text', async () => {
    const { open, id, finish } = await begun();
    const reply = await open('GET', `/v1/responses/${id}?stream=true`);
    if (!reply || !('stream' in reply)) throw new Error('no stream');
    let told = '';
    const read = async () => {
      for await (const piece of reply.stream) told += String(piece);
    };
    await finish([read()]);
    expect(told).toContain('event: response.completed');
    expect(told).toContain('"delta":"Hello"');
  });

  test('DELETE stops the generation and deletes the response', async () => {
    const { ask, id, get } = await begun();
    expect(JSON.parse(await ask('DELETE', `/v1/responses/${id}`))).toMatchObject({ id, deleted: true });
    await later();
    expect(JSON.parse(await get('/api/extra/perf')).idle).toBe(1);
    await expect(get(`/v1/responses/${id}`)).rejects.toMatchObject({ code: 'not-stored' });
  });
});

test('preset: has the engine, the queue and the lane of its base, and its own name and defaults', async () => {
  const { models } = await world({ gendefaults: { top_k: 5 } }, {});
  const { context, format, settings } = models.a;
  const own = { ...settings, gendefaults: { top_k: 7 } };
  const preset = context.preset({ name: 'cold', settings: own, format });
  expect(preset).toMatchObject({ name: 'a', lane: context.lane });
  expect(preset.text).toBe(context.text);
  expect(preset.taskServices).toBe(context.taskServices);
  expect([context, preset].map(({ modelName }) => modelName())).toEqual(['koboldcpp/fake', 'koboldcpp/cold']);
  expect([context, preset].map(({ applyDefaults }) => applyDefaults({}))).toEqual([{ top_k: 5 }, { top_k: 7 }]);
  expect(preset.applyDefaults({ top_k: 1 })).toEqual({ top_k: 1 });
});
