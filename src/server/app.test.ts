import { describe, expect, test } from 'vitest';
import { chooseAdapter, loadAdapter } from '../chat/adapters/load.ts';
import { noTemplate } from '../chat/prompt.ts';
import { chatRequest } from '../chat/testing/scripted-text.ts';
import { defaultSettings, type Settings } from '../config/flags.ts';
import { asAppError } from '../core/errors.ts';
import { fixedTextSource, type TextState } from '../core/text-service.ts';
import type { WebSearch } from '../core/web-search.ts';
import { noTextEngine } from '../engines/none.ts';
import { fakeEmbeddingSource, fakeEngine } from '../engines/testing/fake-engine.ts';
import type { Call, Endpoint, Reply } from '../http/call.ts';
import { router } from '../http/router.ts';
import type { TaskSources } from '../models/engine-kinds.ts';
import { type DocumentedDialect, documentedPaths } from '../protocols/endpoint.ts';
import { fieldTables } from '../protocols/fidelity/fidelity.ts';
import type { DialectResponses } from '../protocols/response-schemas.ts';
import { bindAll } from '../protocols/testing/bind.ts';
import { callOf } from '../protocols/testing/doubles.ts';
import { imageFacts } from '../protocols/testing/pictures.ts';
import { type App, createApp } from './app.ts';
import type { ClientServices } from './client-services.ts';

/** The whole server without its socket, and with no model or a given one. */
async function appOf(
  state: TextState,
  own: Partial<Settings> = {},
  clients: ClientServices = {},
  taskSources: TaskSources = {},
): Promise<App> {
  const engine = fakeEngine({ script: () => ({ pieces: ['Hello'] }), pace: (next) => next() });
  if (state.type !== 'ready') engine.become(state);
  const adapter = await chatMl();
  return createApp({
    settings: { ...defaultSettings, ...own },
    source: fixedTextSource(state.type === 'none' ? noTextEngine(4096) : engine),
    format: { adapter, templateText: undefined, template: async () => undefined, templateUse: noTemplate },
    product: { name: 'Parley', version: '1.2.3' },
    clients,
    taskSources,
    observer: {},
    warn: () => undefined,
    onError: () => undefined,
    shutdown: () => undefined,
  });
}

async function chatMl() {
  return chooseAdapter(await loadAdapter('ChatML', async () => undefined), undefined);
}

interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

async function told(endpoint: Endpoint, call: Call): Promise<Told> {
  const reply: Reply = await Promise.resolve()
    .then(() => endpoint.handle(call))
    .catch((error: unknown) => {
      if (asAppError(error).code === 'internal') throw error;
      return endpoint.dialect.errorReply(asAppError(error));
    });
  let text = 'body' in reply ? String(reply.body) : '';
  if ('stream' in reply) for await (const frame of reply.stream) text += frame;
  return { status: reply.status, headers: reply.headers ?? {}, text };
}

async function ask(app: Pick<App, 'endpoints'>, method: string, path: string, body: unknown = ''): Promise<Told> {
  const endpoint = router(app.endpoints).find(method, path);
  if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
  return told(endpoint, callOf(path, body, { method }));
}

const ready: TextState = { type: 'ready', model: {} as never };
const none: TextState = { type: 'none' };
const loading: TextState = { type: 'loading', name: 'mini', progress: 0.5 };
const failed: TextState = { type: 'failed', name: 'mini', reason: 'the file is cut off' };

/** Health endpoints answer with an error status. */
const complains = new Set(['/health', '/v1/health', '/voice/check']);

describe.each([ready, none, loading, failed])('app: text model is $type', (state) => {
  test('answers every read-only path', async () => {
    const app = await appOf(state);
    const looks = app.endpoints.filter(
      ({ method, match, rateLimited }) => method === 'GET' && match !== 'rest' && !rateLimited,
    );
    for (const endpoint of looks) {
      const { status } = await told(endpoint, callOf(endpoint.path, '', { method: 'GET' }));
      if (!complains.has(endpoint.path)) expect(status, `GET ${endpoint.path}`).toBeLessThan(502);
    }
  });

  test('reports the state by its health endpoints', async () => {
    const expected = { ready: 200, none: 200, loading: 503, failed: 500 }[state.type];
    expect((await ask(await appOf(state), 'GET', '/health')).status).toBe(expected);
  });

  test('lists its models in every dialect', async () => {
    const app = await appOf(state);
    const there = state.type === 'ready' || state.type === 'loading';
    expect(JSON.parse((await ask(app, 'GET', '/api/tags')).text).models).toHaveLength(there ? 1 : 0);
    expect(JSON.parse((await ask(app, 'GET', '/v1/models')).text).data).toHaveLength(1);
    expect(JSON.parse((await ask(app, 'GET', '/api/extra/version')).text).llm).toBe(there);
  });
});

const chat = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 5 };

/** A request of each dialect, and the shape of its failures. */
const requests: readonly [path: string, body: object, failure: object][] = [
  ['/v1/chat/completions', chat, { error: { message: expect.any(String), type: expect.any(String) } }],
  ['/v1/completions', { prompt: 'Hi' }, { error: { message: expect.any(String), type: expect.any(String) } }],
  ['/completions', { prompt: 'Hi', n_predict: 5 }, { error: { code: expect.any(Number), type: expect.any(String) } }],
  ['/completion', { prompt: 'Hi' }, { error: { code: expect.any(Number), type: expect.any(String) } }],
  ['/infill', { input_prefix: '', input_suffix: '' }, { error: { code: expect.any(Number) } }],
  ['/tokenize', { content: 'Hi' }, { error: { code: expect.any(Number) } }],
  ['/detokenize', { tokens: [1] }, { error: { code: expect.any(Number) } }],
  ['/v1/responses', { input: 'Hi' }, { error: { message: expect.any(String) } }],
  ['/v1/messages', chat, { type: 'error', error: { type: expect.any(String), message: expect.any(String) } }],
  ['/v1/messages/count_tokens', chat, { type: 'error', error: { type: expect.any(String) } }],
  ['/api/chat', { model: 'm', messages: chat.messages, stream: false }, { error: expect.any(String) }],
  ['/api/generate', { model: 'm', prompt: 'Hi', stream: false }, { error: expect.any(String) }],
  ['/api/generate', { model: 'm' }, { error: expect.any(String) }],
  ['/api/show', { model: 'm' }, { error: expect.any(String) }],
];

test.each(requests)(
  'app: after a failed load %s is rejected in the error format of its dialect',
  async (path, body, failure) => {
    const { status, text, headers } = await ask(await appOf(failed), 'POST', path, body);
    expect(status).toBeGreaterThanOrEqual(500);
    expect(headers['content-type']).toMatch('application/json');
    expect(JSON.parse(text)).toMatchObject(failure);
    expect(text).toContain('the file is cut off');
  },
);

test.each(requests)(
  'app: without a model %s is rejected in the error format of its dialect',
  async (path, body, failure) => {
    const { status, text } = await ask(await appOf(none), 'POST', path, body);
    expect(status).toBeGreaterThanOrEqual(404);
    expect(JSON.parse(text)).toMatchObject(failure);
  },
);

test('app: without a model the native API answers with an empty text', async () => {
  const { status, text } = await ask(await appOf(none), 'POST', '/api/v1/generate', { prompt: 'Hi' });
  expect(status).toBe(200);
  expect(JSON.parse(text)).toMatchObject({ results: [{ text: '' }] });
});

describe('app: stories and web search', () => {
  const off = { savedata: false, multiplayer: false, websearch: false };

  test.each<[string, number, unknown]>([
    ['/api/extra/data/list', 200, []],
    ['/api/extra/data/load', 200, { success: false, data: null }],
    ['/api/extra/data/save', 400, { success: false, error: 'SaveDataFile not enabled!' }],
    ['/api/extra/multiplayer/status', 200, { error: 'Multiplayer not enabled!' }],
    ['/api/extra/multiplayer/setstory', 400, { success: false, error: 'Multiplayer not enabled!' }],
    ['/api/extra/websearch', 200, []],
    ['/behind/a/proxy/api/extra/websearch', 200, []],
  ])('%s answers in its own format while disabled', async (path, status, body) => {
    const app = await appOf(none);
    const told = await ask(app, 'POST', path, { slot: 0, q: 'x', data: 'x' });
    expect([told.status, JSON.parse(told.text)]).toEqual([status, body]);
    expect(JSON.parse((await ask(app, 'GET', '/api/extra/version')).text)).toMatchObject(off);
  });

  test('are reported and available when enabled, for every model', async () => {
    const search: WebSearch = {
      find: async (query) => ({ pages: [{ title: query, url: 'u', description: 'd', content: 'c' }] }),
      text: async () => ({ problem: 'unused', cause: 'unreachable' as const }),
      page: async () => ({ problem: 'none' }),
    };
    const app = await appOf(none, {}, { search });
    const version = JSON.parse((await ask(app, 'GET', '/api/extra/version')).text);
    expect(version).toMatchObject({ ...off, websearch: true });
    const second = app.contextOf({
      settings: defaultSettings,
      source: fixedTextSource(noTextEngine(4096)),
      format: {
        adapter: await chatMl(),
        templateText: undefined,
        template: async () => undefined,
        templateUse: noTemplate,
      },
    });
    for (const context of [app.context, second]) {
      const endpoints = bindAll(app.modelEndpoints, context);
      expect(JSON.parse((await ask({ endpoints }, 'POST', '/api/extra/websearch', { q: 'x' })).text)).toEqual([
        { title: 'x', url: 'u', desc: 'd', content: 'c' },
      ]);
    }
  });

  test('report a preloaded story that cannot be read', async () => {
    await expect(appOf(none, { preloadstory: '{"a":' })).rejects.toThrow('--preloadstory: the text is no story');
  });
});

test('app: every endpoint rejects an invalid body without an internal error', async () => {
  const app = await appOf(ready);
  for (const endpoint of app.endpoints.filter(({ method, match }) => method !== 'GET' && match !== 'rest')) {
    for (const body of ['{', '[]', 'null', '5', '']) {
      const { status } = await told(endpoint, callOf(endpoint.path, body, { method: endpoint.method }));
      expect(status, `${endpoint.method} ${endpoint.path} ${body}`).toBeLessThan(502);
    }
  }
});

test('app: request defaults reach each dialect under its field names', async () => {
  const app = await appOf(ready, { gendefaults: { temperature: 0.123, seed: 77, steps: 8 } });
  const settings = async (body: object) => {
    const { text } = await ask(app, 'POST', '/completion', { prompt: 'Hi', ...body });
    return JSON.parse(text).generation_settings;
  };
  expect(await settings({})).toMatchObject({ temperature: 0.123, seed: 77 });
  expect(await settings({ temperature: 1, seed: 5 })).toMatchObject({ temperature: 1, seed: 5 });
  const forced = await appOf(ready, { gendefaults: { seed: 77 }, gendefaultsoverwrite: true });
  const { text } = await ask(forced, 'POST', '/completion', { prompt: 'Hi', seed: 5 });
  expect(JSON.parse(text).generation_settings.seed).toBe(77);
});

test('app: the plain list with ?all=1 has a row for each endpoint', async () => {
  const app = await appOf(ready);
  const { text } = await askQuery(app, '/api', 'plain=1&all=1');
  for (const { path } of app.endpoints.filter(({ match }) => match !== 'rest')) expect(text).toContain(path);
});

test('app: two dialects on one short path each answer in their format', async () => {
  const app = await appOf(ready);
  const ours = await ask(app, 'POST', '/completions', { prompt: 'Hi', n_predict: 5 });
  expect(JSON.parse(ours.text)).toMatchObject({ content: 'Hello', stop: true });
  const theirs = await ask(app, 'POST', '/completions', { prompt: 'Hi', max_tokens: 5 });
  expect(JSON.parse(theirs.text)).toMatchObject({ object: 'text_completion', choices: [{ text: 'Hello' }] });
});

describe('OpenAPI document', () => {
  interface Described {
    readonly tags: readonly { readonly name: string }[];
    readonly paths: Readonly<Record<string, Readonly<Record<string, Record<string, unknown>>>>>;
    readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
  }
  interface Schema {
    readonly type?: unknown;
    readonly description?: string;
    readonly properties?: Readonly<Record<string, Schema>>;
  }

  /** The whole document, as far as nothing else is said. */
  const describedBy = async (app: App, query = 'all=1'): Promise<Described> =>
    JSON.parse((await askQuery(app, '/api/openapi.json', query)).text);

  const operationsOf = ({ paths }: Described) =>
    Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) => ({ path, method, operation })),
    );

  test('by default: describes no path of the Ollama, ComfyUI, XTTS and VITS emulations', async () => {
    const app = await appOf(ready);
    const document = await describedBy(app, '');
    const paths = Object.keys(document.paths);
    const emulated = [...'/api/generate /api/chat /api/embed /api/tags /prompt /view /history'.split(' ')];
    for (const path of [...emulated, '/tts_to_audio', '/speakers_list']) expect(paths).not.toContain(path);
    const main = ['/api/v1/generate', '/v1/chat/completions', '/v1/messages', '/sdapi/v1/txt2img'];
    expect(paths).toEqual(expect.arrayContaining(main));
    const tags = document.tags.map(({ name }) => name);
    for (const name of ['ollama', 'comfy', 'xtts', 'vits']) expect(tags).not.toContain(name);
  });

  test('with ?all=1: has every path of all dialects but pages', async () => {
    const app = await appOf(ready);
    const document = await describedBy(app);
    const missing = app.endpoints
      .filter(({ dialect, match }) => dialect.name !== 'pages' && match !== 'rest')
      .filter(({ path, match, method }) => {
        const found = Object.keys(document.paths).filter((each) =>
          match === 'prefix' ? each.startsWith(path) : each === path,
        );
        return !found.some((each) => document.paths[each]?.[method.toLowerCase()]);
      });
    expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
    for (const name of ['native', 'openai', 'messages', 'responses', 'sdapi', 'llamacpp', 'admin']) {
      expect(document.tags.map((tag) => tag.name)).toContain(name);
    }
  });

  /** Every documented path, with the name of its response and the schemas of its dialect. */
  const documentedResponses = async (app: App) => {
    const rows = app.modelEndpoints.filter(({ dialect }) => dialect.name !== 'pages');
    const dialects = new Map<DocumentedDialect, DialectResponses | undefined>();
    for (const { dialect } of rows) if (!dialects.has(dialect)) dialects.set(dialect, await dialect.responses?.([]));
    return rows.flatMap((row) =>
      documentedPaths(row).map(({ path, response = '' }) => {
        return {
          operation: `${row.method} ${path}`,
          family: row.dialect.name,
          response,
          dialect: dialects.get(row.dialect),
        };
      }),
    );
  };

  test('has the responses of every operation, or says that it is always refused; no response is left over', async () => {
    const app = await appOf(ready);
    const rows = await documentedResponses(app);
    const isMissing = rows.filter(({ family, response, dialect }) => {
      return !dialect?.responses[response] || !dialect.errors[family];
    });
    expect(isMissing.map(({ operation, response }) => `${operation}: ${response}`)).toEqual([]);
    const refused = rows.filter(({ response, dialect }) => dialect?.responses[response]?.statuses?.length === 0);
    const unanswered = operationsOf(await describedBy(app))
      .filter(({ operation }) => !Object.keys(operation.responses as object).some((status) => status.startsWith('2')))
      .map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect(unanswered.sort()).toEqual(refused.map(({ operation }) => operation).sort());
    const declared = new Set(rows.flatMap(({ dialect }) => (dialect ? [dialect.responses] : [])));
    const unused = [...declared].flatMap((responses) => {
      const used = new Set(
        rows.filter(({ dialect }) => dialect?.responses === responses).map(({ response }) => response),
      );
      return Object.keys(responses).filter((name) => !used.has(name));
    });
    expect(unused).toEqual([]);
  });

  test('is consistent: unique names, valid references, and all path parameters', async () => {
    const document = await describedBy(await appOf(ready));
    const operations = operationsOf(document);
    const ids = operations.map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = document.tags.map(({ name }) => name);
    for (const { path, method, operation } of operations) {
      expect(['get', 'post', 'put', 'delete'], `${method} ${path}`).toContain(method);
      expect(tags).toEqual(expect.arrayContaining(operation.tags as string[]));
      const named = ((operation.parameters ?? []) as { name: string; in: string }[]).filter((one) => one.in === 'path');
      expect(named.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      const responses = Object.entries(operation.responses as Record<string, { description: string }>);
      expect(responses.length).toBeGreaterThan(0);
      for (const [status, { description }] of responses) {
        expect(status).toMatch(/^([1-5]\d\d|default)$/);
        expect(description).not.toBe('');
      }
    }
    const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/g)];
    expect(references.length).toBeGreaterThan(20);
    for (const [, name] of references) expect(document.components.schemas).toHaveProperty(name ?? '');
  });

  test('has every field of every field table', async () => {
    const app = await appOf(ready);
    const { components, paths } = await describedBy(app);
    const text = JSON.stringify([components.schemas, paths]);
    // OpenAPI has no place for the events of a WebSocket.
    const requests = fieldTables(app.modelEndpoints).filter(({ endpoint }) => endpoint.includes('/'));
    for (const { endpoint, fields } of requests) {
      for (const { field } of fields) {
        const name = field.split('.').at(-1) ?? '';
        expect(text, `${endpoint} ${field}`).toContain(JSON.stringify(name).slice(1, -1));
      }
    }
  });

  test('has the type of nearly every supported field', async () => {
    const { components } = await describedBy(await appOf(ready));
    const sent = Object.entries(components.schemas).filter(([name]) => !name.startsWith('Answer.'));
    const effective = sent.flatMap(([name, { properties = {} }]) =>
      Object.entries(properties)
        .filter(([, schema]) => !/^(Ignored|Refused)/.test(schema.description ?? ''))
        .map(([field, schema]) => ({ field: `${name}.${field}`, schema })),
    );
    const untyped = effective.filter(({ schema }) => !('type' in schema || 'anyOf' in schema || 'enum' in schema));
    expect(effective.length).toBeGreaterThan(300);
    expect(untyped.length, untyped.map(({ field }) => field).join()).toBeLessThan(effective.length / 50);
  });

  test('has examples for existing operations only, and for every generating one', async () => {
    const app = await appOf(ready);
    const rows = await documentedResponses(app);
    for (const { dialect } of rows) {
      const responses = new Set(rows.filter((row) => row.dialect === dialect).map(({ response }) => response));
      expect(Object.keys(dialect?.examples ?? {}).filter((name) => !responses.has(name))).toEqual([]);
    }
    for (const path of ['/api/v1/generate', '/v1/messages', '/v1/responses', '/sdapi/v1/txt2img', '/v1/audio/speech']) {
      const row = rows.find(({ operation }) => operation === `POST ${path}`);
      expect(row?.dialect?.examples).toHaveProperty(row?.response ?? '');
    }
  });

  test('its examples are accepted', async () => {
    const app = await appOf(ready);
    const document = await describedBy(app);
    for (const { path, method, operation } of operationsOf(document)) {
      const { content } = (operation.requestBody ?? {}) as { content?: Record<string, { example?: object }> };
      const example = content?.['application/json']?.example;
      if (!example || !/^\/(api|v1\/(chat|completions|messages|responses)|completion|request)/.test(path)) continue;
      const reply = await ask(app, method.toUpperCase(), path, JSON.stringify(example));
      expect(reply.status, `${method} ${path}: ${reply.text}`).not.toBe(400);
    }
  });

  test('is the same at both addresses except for the server URL', async () => {
    const app = await appOf(ready);
    for (const query of ['', 'all=1']) {
      const second = JSON.parse((await askQuery(app, '/api', `json=1&${query}`)).text);
      expect(second).toEqual({ ...(await describedBy(app, query)), servers: [{ url: '.' }] });
    }
  });
});

async function askQuery(app: App, path: string, query: string): Promise<Told> {
  const endpoint = router(app.endpoints).find('GET', path);
  if (!endpoint) throw new Error(`nobody answers GET ${path}`);
  return told(endpoint, { ...callOf(path, '', { method: 'GET' }), query: new URLSearchParams(query) });
}

describe('model names', () => {
  const sourceOf = (name: string) => ({
    name,
    use: () => Promise.reject(new Error('not in this test')),
    peek: () => undefined,
    state: () => ({ type: 'unloaded' as const }),
  });
  const painter = {
    ...imageFacts,
    name: 'hidden-painter',
    title: 'hidden-painter.safetensors [abc]',
    path: '/models/hidden-painter.safetensors',
    loras: [{ name: 'hidden-lora', file: 'hidden-lora.safetensors' }],
    vae: 'hidden-vae.safetensors',
  };
  const taskSources: TaskSources = {
    image: { ...sourceOf('hidden-painter'), facts: painter },
    speech: {
      ...sourceOf('hidden-speaker'),
      voices: async () => [{ name: 'anna', language: 'en' }] as never,
      maxWords: 10,
    },
    transcription: sourceOf('hidden-listener'),
    embedding: { ...fakeEmbeddingSource, name: 'hidden-embedder' },
  };
  const hiddenLoading: TextState = { type: 'loading', name: 'hidden-text', progress: 0.5 };
  const hiddenFailed: TextState = {
    type: 'failed',
    name: 'hidden-text',
    reason: '/models/hidden-text.gguf is cut off',
  };
  const secrets = /hidden-|koboldcpp\/fake/;

  test.each([ready, hiddenLoading, hiddenFailed])(
    'model names: no open path has one without the key, while the text model is $type',
    async (state) => {
      const app = await appOf(state, { password: 'x' }, {}, taskSources);
      for (const endpoint of app.endpoints.filter(({ access }) => access === 'open')) {
        const { method, path } = endpoint;
        const asked = path === '/api/show' ? { model: 'any' } : '';
        const { text } = await told(endpoint, callOf(path, asked, { method, authorized: false }));
        expect(text, `${method} ${path}`).not.toMatch(secrets);
      }
    },
  );

  test.each([
    ['GET', '/v1/models', /hidden-embedder/],
    ['GET', '/models', /hidden-embedder/],
    ['GET', '/api/tags', /koboldcpp\/fake/],
    ['GET', '/api/ps', /koboldcpp\/fake/],
    ['GET', '/props', /koboldcpp\/fake/],
    ['GET', '/api/v1/model', /koboldcpp\/fake/],
    ['GET', '/sdapi/v1/sd-models', /hidden-painter/],
    ['GET', '/sdapi/v1/options', /hidden-painter/],
    ['GET', '/models/checkpoints', /hidden-painter/],
    ['GET', '/v1/audio/models', /hidden-speaker/],
    ['GET', '/get_models_list', /hidden-speaker/],
  ])('model names: %s %s has them with the key, and no masked one', async (method, path, name) => {
    const { text } = await ask(await appOf(ready, { password: 'x' }, {}, taskSources), method, path);
    expect(text).toMatch(name);
    expect(text).not.toContain('protected-model');
  });

  test('model names: /v1/models has one masked entry without the key', async () => {
    const app = await appOf(ready, { password: 'x' }, {}, taskSources);
    const endpoint = router(app.endpoints).find('GET', '/v1/models') as Endpoint;
    const { text } = await told(endpoint, callOf('/v1/models', '', { method: 'GET', authorized: false }));
    const { data, models } = JSON.parse(text);
    expect([data.map(({ id }: { id: string }) => id), models]).toEqual([['koboldcpp/protected-model'], []]);
  });
});

test('templates: the time of day is that of the full hour, so that prompts do not change by the minute', async () => {
  const app = await appOf(none, {});
  const shown = async (exactprompts: boolean) => {
    let now = new Date(0);
    const { chat } = app.contextOf({
      settings: { ...defaultSettings, exactprompts },
      source: fixedTextSource(noTextEngine(4096)),
      format: {
        adapter: await chatMl(),
        templateText: '',
        template: async () => async (input) => {
          now = input.now;
          return { prompt: '', warnings: [] };
        },
        templateUse: { chats: true, tools: false, listedTools: false },
      },
    });
    await chat.render(chatRequest('Hi'));
    return now;
  };
  const before = new Date();
  const [hour, exact] = [await shown(false), await shown(true)];
  expect([hour.getMinutes(), hour.getSeconds(), hour.getMilliseconds()]).toEqual([0, 0, 0]);
  expect(exact.getTime()).toBeGreaterThanOrEqual(before.getTime());
});
