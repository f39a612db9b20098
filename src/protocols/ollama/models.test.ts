import { describe, expect, test } from 'vitest';
import { asAppError } from '../../core/errors.ts';
import { modelId } from '../../core/model-names.ts';
import type { ListedModel } from '../../core/models-view.ts';
import type { TextService } from '../../core/text-service.ts';
import { quantizationOf } from '../../gguf/describe.ts';
import type { Call } from '../../http/call.ts';
import { router } from '../../http/router.ts';
import { bindAll } from '../testing/bind.ts';
import { callOf, scriptedChat, scriptedText } from '../testing/doubles.ts';
import { scriptedEmbedding } from '../testing/embedding.ts';
import { cachedFiles } from './models.ts';
import { answeringProbes, ollamaEndpoints } from './routes.ts';
import { file, header, model, type OllamaContext, ollamaContext } from './testing/context.ts';

async function ask(parts: OllamaContext, method: string, path: string, body: unknown = {}, own: Partial<Call> = {}) {
  const endpoint = router(bindAll(ollamaEndpoints(parts, parts), parts)).find(method, path);
  if (!endpoint) throw new Error(`nobody answers ${method} ${path}`);
  const reply = await Promise.resolve(endpoint.handle(callOf(path, body, own))).catch((error: unknown) =>
    endpoint.dialect.errorReply(asAppError(error)),
  );
  return { ...reply, value: JSON.parse('body' in reply ? String(reply.body) : 'null') };
}

const textWith = (own: Partial<TextService>): TextService => ({ ...ollamaContext().parts.text, ...own });
const withState = (state: TextService['state']): Partial<OllamaContext> => ({ text: scriptedText([], { state }).text });

const details = {
  parent_model: '',
  format: 'gguf',
  family: 'llama',
  families: ['llama'],
  parameter_size: '8.0B',
  quantization_level: 'Q4_K_M',
  context_length: 4096,
  embedding_length: 512,
};

test('/api/tags: the loaded model, with the tag latest', async () => {
  const { value, headers } = await ask(ollamaContext().parts, 'GET', '/api/tags');
  expect(headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' });
  expect(value).toEqual({
    models: [
      {
        name: 'koboldcpp/mini:latest',
        model: 'koboldcpp/mini:latest',
        modified_at: '2026-11-01T00:00:00.000Z',
        size: 4_912_898_304,
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        details,
        capabilities: ['completion', 'tools', 'thinking'],
      },
    ],
  });
});

test('/api/tags: lists a model that is being loaded, /api/ps does not', async () => {
  const { parts } = ollamaContext(
    [],
    withState(() => ({ type: 'loading', name: 'mini', progress: 0.5 })),
  );
  expect((await ask(parts, 'GET', '/api/tags')).value).toMatchObject({
    models: [{ name: 'koboldcpp/mini:latest', size: 0, details: { family: '', families: [] } }],
  });
  expect((await ask(parts, 'GET', '/api/ps')).value).toEqual({ models: [] });
});

test.each(['/api/tags', '/api/ps'])('%s: empty without a model', async (path) => {
  const { parts } = ollamaContext(
    [],
    withState(() => ({ type: 'none' })),
  );
  expect((await ask(parts, 'GET', path)).value).toEqual({ models: [] });
});

test('/api/ps: expiry and size of the model', async () => {
  const forever = (await ask(ollamaContext().parts, 'GET', '/api/ps')).value.models[0];
  expect(forever).toMatchObject({
    expires_at: '2300-01-01T00:00:00.000Z',
    size_vram: 0,
    context_length: 4096,
    details,
  });
  expect(forever).not.toHaveProperty('modified_at');
  const { parts } = ollamaContext([], {
    text: textWith({ expiresAt: () => Date.UTC(2026, 0, 2) }),
    gpuBytes: () => 77,
  });
  expect((await ask(parts, 'GET', '/api/ps')).value.models[0]).toMatchObject({
    expires_at: '2026-01-02T00:00:00.000Z',
    size_vram: 77,
  });
});

test('/api/ps: without an unloaded model, which /api/tags still lists', async () => {
  const { parts } = ollamaContext([], { text: textWith({ loaded: () => false }) });
  expect((await ask(parts, 'GET', '/api/ps')).value).toEqual({ models: [] });
  expect((await ask(parts, 'GET', '/api/tags')).value.models).toHaveLength(1);
});

test('/api/show: the loaded model under every name, with its metadata', async () => {
  const { value } = await ask(ollamaContext().parts, 'POST', '/api/show', { model: 'whatever' });
  expect(value).toEqual({
    license: 'apache-2.0',
    modelfile: 'FROM koboldcpp/mini\n',
    parameters: 'num_ctx                        4096',
    template: '{{ messages }}<think>',
    details,
    model_info: {
      'general.architecture': 'llama',
      'general.basename': 'Mini',
      'general.file_type': 15,
      'general.license': 'apache-2.0',
      'general.name': 'Mini',
      'general.parameter_count': 8_030_000_000,
      'llama.big': 12,
      'llama.context_length': 8192,
      'llama.embedding_length': 512,
      'llama.short': [1, 2],
      'tokenizer.ggml.tokens': [],
    },
    capabilities: ['completion', 'tools', 'thinking'],
    modified_at: '2026-11-01T00:00:00.000Z',
  });
});

test('/api/show: the loaded model without a name', async () => {
  const named = await ask(ollamaContext().parts, 'POST', '/api/show', { model: 'koboldcpp/mini' });
  const { status, value } = await ask(ollamaContext().parts, 'POST', '/api/show', {});
  expect([status, value]).toEqual([200, named.value]);
});

test('/api/tags: the family of an embeddings model that was never loaded is that of its file', async () => {
  const file = () => ({ sizeBytes: 9, modifiedAt: 0, architecture: 'bert' });
  const { service } = scriptedEmbedding('built-in', { facts: () => undefined, file });
  const { value } = await ask(ollamaContext([], { taskServices: { embedding: service } }).parts, 'GET', '/api/tags');
  expect(value.models[1]).toMatchObject({ name: 'built-in:latest', details: { family: 'bert', families: ['bert'] } });
});

test('/api/show: the trained context of the engine if the file has none', async () => {
  const metadata = new Map(header().metadata);
  metadata.delete('llama.context_length');
  const { parts } = ollamaContext([], { modelFile: async () => ({ ...file, header: header({ metadata }) }) });
  const { value } = await ask(parts, 'POST', '/api/show', { model: 'm' });
  expect(value.model_info).toMatchObject({ 'llama.context_length': 8192 });
});

test('/api/show: the usable context beside that of the file', async () => {
  const { parts } = ollamaContext();
  const { value } = await ask(parts, 'POST', '/api/show', { model: 'm' });
  expect(value).toMatchObject({
    parameters: expect.stringMatching(/^num_ctx +4096$/),
    details: { context_length: 4096 },
  });
});

test('/api/show: the template of the chats', async () => {
  const { parts } = ollamaContext([], { chat: scriptedChat([], { templateText: '{{ mine }}' }).chat });
  expect((await ask(parts, 'POST', '/api/show', { model: 'm' })).value).toMatchObject({
    template: '{{ mine }}',
    capabilities: ['completion', 'tools'],
  });
  const silent = ollamaContext(
    [],
    withState(() => ({ type: 'ready', model: { ...model, chatTemplate: undefined } })),
  );
  expect((await ask(silent.parts, 'POST', '/api/show', { model: 'm' })).value).toMatchObject({ template: '' });
});

test('/api/show: the error of a model that failed to load, which is not listed', async () => {
  const { parts } = ollamaContext(
    [],
    withState(() => ({ type: 'failed', name: 'mini', reason: 'the file is cut off' })),
  );
  expect((await ask(parts, 'GET', '/api/tags')).value).toEqual({ models: [] });
  expect((await ask(parts, 'GET', '/api/ps')).value).toEqual({ models: [] });
  const { status, value } = await ask(parts, 'POST', '/api/show', { model: 'm' });
  expect(status).toBeGreaterThanOrEqual(500);
  expect(value).toEqual({ error: expect.stringContaining('the file is cut off') });
});

test('/api/show: the requested name for GitHub Copilot', async () => {
  const headers = { 'user-agent': 'GitHubCopilotChat/0.40' };
  const { value } = await ask(ollamaContext().parts, 'POST', '/api/show', { model: 'whatever' }, { headers });
  expect(value.model_info['general.basename']).toBe('whatever');
});

test('/api/show: reads the file once, and again for verbose', async () => {
  const reads: boolean[] = [];
  const { parts } = ollamaContext([], {
    modelFile: async (_, { longArrays }) => {
      reads.push(longArrays);
      return file;
    },
  });
  const find = router(bindAll(ollamaEndpoints(parts, parts), parts)).find;
  await find('GET', '/api/tags')?.handle(callOf('/api/tags', ''));
  await find('GET', '/api/ps')?.handle(callOf('/api/ps', ''));
  await find('POST', '/api/show')?.handle(callOf('/api/show', { name: 'm' }));
  expect(reads).toEqual([false]);
  await find('POST', '/api/show')?.handle(callOf('/api/show', { model: 'm', verbose: true }));
  expect(reads).toEqual([false, true]);
});

test('/api/show: facts of a missing file are empty, not null', async () => {
  const { parts } = ollamaContext([], { modelFile: () => Promise.reject(new Error('gone')) });
  expect((await ask(parts, 'POST', '/api/show', { model: 'm' })).value).toMatchObject({
    model_info: { 'general.basename': 'koboldcpp/mini', 'general.parameter_count': 8_030_000_000 },
    details: { family: '', families: [], parameter_size: '8.0B' },
  });
});

test('/api/show: 404 without a model', async () => {
  const { parts } = ollamaContext(
    [],
    withState(() => ({ type: 'none' })),
  );
  expect(await ask(parts, 'POST', '/api/show', { model: 'm' })).toMatchObject({
    status: 404,
    value: { error: "model 'm' not found" },
  });
});

test('/api/version: high enough for apps', async () => {
  expect((await ask(ollamaContext().parts, 'GET', '/api/version')).value).toEqual({ version: '0.31.0' });
  expect((await ask(ollamaContext().parts, 'GET', '/api/status')).value).toMatchObject({ cloud: { disabled: true } });
});

test('quantizationOf: the file type, or the type of most bytes', () => {
  expect(quantizationOf(header())).toBe('Q4_K_M');
  expect(quantizationOf(header({ metadata: new Map() }))).toBe('Q8_0');
  expect(quantizationOf(header({ metadata: new Map(), tensors: [] }))).toBe('unknown');
});

test.each([
  ['text/html,application/xhtml+xml,*/*;q=0.8', 'page'],
  ['*/*', 'Ollama is running'],
  [undefined, 'Ollama is running'],
])('start page: accept %j gives %s', async (accept, expected) => {
  const [some] = ollamaEndpoints(ollamaContext().parts, ollamaContext().parts);
  if (!some) throw new Error('there are endpoints');
  const page = answeringProbes({ ...some, handle: () => ({ status: 200, body: 'page' }) });
  const headers = accept === undefined ? {} : { accept };
  expect(await page.handle(callOf('/', '', { headers }), undefined)).toMatchObject({ status: 200, body: expected });
});

test('capabilities: vision and audio of a model with a projector', async () => {
  const inputs = { image: true, audio: true };
  const { parts } = ollamaContext(
    [],
    withState(() => ({ type: 'ready', model: { ...model, inputs } })),
  );
  const capabilities = ['completion', 'tools', 'vision', 'audio', 'thinking'];
  expect((await ask(parts, 'GET', '/api/tags')).value).toMatchObject({ models: [{ capabilities }] });
});

test('capabilities: insert for a model with fill-in-the-middle marks', async () => {
  const fillMarks = { prefix: '<P>', suffix: '<S>', middle: '<M>' };
  const { parts } = ollamaContext(
    [],
    withState(() => ({ type: 'ready', model: { ...model, fillMarks } })),
  );
  const capabilities = ['completion', 'tools', 'insert', 'thinking'];
  expect((await ask(parts, 'GET', '/api/tags')).value).toMatchObject({ models: [{ capabilities }] });
});

describe('with several models by name', () => {
  const listed = (name: string, own: Partial<ListedModel> = {}): ListedModel => ({
    name,
    id: modelId(name),
    present: name === 'mini',
    state: 'unloaded',
    expiresAt: Number.POSITIVE_INFINITY,
    ...own,
  });
  const present = listed('mini', { state: 'ready', known: model, path: model.path, expiresAt: Date.UTC(2026, 0, 2) });
  const big = listed('big', { path: '/models/big.gguf' });
  const config = listed('settings');

  function several(list: readonly ListedModel[], own: Partial<OllamaContext> = {}) {
    const read: string[] = [];
    const { parts, askedText } = ollamaContext([], {
      models: { list: async () => list, swap: undefined, byName: true },
      modelFile: async (path, { longArrays }) => {
        read.push(longArrays ? `${path} whole` : path);
        if (path.includes('gone')) throw new Error('no such file');
        return file;
      },
      ...own,
    });
    return { parts, askedText, read };
  }

  test('/api/tags: lists all, with the facts of their files', async () => {
    const { value } = await ask(several([present, big, config]).parts, 'GET', '/api/tags');
    expect(value).toMatchObject({
      models: [
        {
          name: 'koboldcpp/mini:latest',
          size: 4_912_898_304,
          details: { parameter_size: '8.0B', context_length: 4096 },
        },
        {
          name: 'koboldcpp/big:latest',
          modified_at: '2026-11-01T00:00:00.000Z',
          size: 34,
          details: { family: 'llama', parameter_size: '32', quantization_level: 'Q4_K_M' },
        },
        { name: 'koboldcpp/settings:latest', size: 0, details: { family: '', parameter_size: '' } },
      ],
    });
  });

  test('/api/tags: does not read files again', async () => {
    const { parts, read } = several([present, big]);
    const endpoint = router(bindAll(ollamaEndpoints(parts, parts), parts)).find('GET', '/api/tags');
    await endpoint?.handle(callOf('/api/tags', ''));
    await endpoint?.handle(callOf('/api/tags', ''));
    expect(read).toEqual(['/models/mini.gguf', '/models/big.gguf']);
  });

  test('/api/tags: an entry without facts for a missing file', async () => {
    const { value } = await ask(several([listed('gone', { path: '/gone.gguf' })]).parts, 'GET', '/api/tags');
    expect(value.models).toMatchObject([{ size: 0, modified_at: '1970-01-01T00:00:00.000Z' }]);
  });

  test('/api/ps: models in memory, with size and expiry', async () => {
    const other = listed('other', { state: 'leaving', known: { ...model, sizeBytes: 5, contextSize: 512 } });
    const list = [present, other, big, listed('coming', { state: 'loading' }), listed('broken', { state: 'failed' })];
    const { value } = await ask(several(list, { gpuBytes: () => 77 }).parts, 'GET', '/api/ps');
    expect(value.models).toMatchObject([
      { name: 'koboldcpp/mini:latest', size_vram: 77, expires_at: '2026-01-02T00:00:00.000Z', context_length: 4096 },
      {
        name: 'koboldcpp/other:latest',
        size: 5,
        size_vram: 0,
        expires_at: '2300-01-01T00:00:00.000Z',
        context_length: 512,
      },
    ]);
    expect(value.models).toHaveLength(2);
  });

  test('/api/show: a preset has its limit of the context and its length, by the names of this API', async () => {
    const parameters = { max_context_length: 512, rep_pen: 1.1, stop_sequence: ['END'] };
    const preset = { base: 'mini', system: '', parameters, replyLength: 40, messages: [] };
    const { value } = await ask(several([{ ...present, preset }]).parts, 'POST', '/api/show', { model: 'mini' });
    const shown = { num_ctx: '512', repeat_penalty: '1.1', stop: 'END', num_predict: '40' };
    expect(value.details).toMatchObject({ parent_model: 'mini', context_length: 512 });
    expect(Object.fromEntries(value.parameters.split('\n').map((line: string) => line.split(/ +/)))).toEqual(shown);
    expect(value.modelfile).toContain('PARAMETER num_ctx 512\n');
  });

  test('/api/show: shows a model from its file, without loading it', async () => {
    const { parts, askedText } = several([present, big]);
    const { value } = await ask(parts, 'POST', '/api/show', { model: 'big:latest' });
    expect(value).toMatchObject({
      modelfile: 'FROM koboldcpp/big\n',
      parameters: '',
      template: 'x',
      license: 'apache-2.0',
      model_info: { 'general.parameter_count': 32, 'llama.context_length': 8192 },
      capabilities: ['completion', 'tools'],
    });
    expect(askedText).toEqual([]);
  });

  test('/api/show: reads the whole file for verbose', async () => {
    const { parts, read } = several([present, big]);
    await ask(parts, 'POST', '/api/show', { model: 'big', verbose: true });
    expect(read).toEqual(['/models/big.gguf whole']);
  });

  test('/api/show: the chat template of the default model', async () => {
    const { parts } = several([present, big], { chat: scriptedChat([], { templateText: 'own' }).chat });
    expect((await ask(parts, 'POST', '/api/show', { model: 'mini' })).value).toMatchObject({ template: 'own' });
    expect((await ask(parts, 'POST', '/api/show', { model: 'big' })).value).toMatchObject({ template: 'x' });
  });

  test('/api/show: 404 for an unknown name', async () => {
    expect(await ask(several([present, big]).parts, 'POST', '/api/show', { model: 'maxi' })).toMatchObject({
      status: 404,
    });
  });
});

describe('the embeddings model', () => {
  const withEmbedding = (service = scriptedEmbedding().service): OllamaContext => ({
    ...ollamaContext().parts,
    taskServices: { embedding: service },
  });
  const facts = {
    parent_model: '',
    format: 'gguf',
    family: 'bert',
    families: ['bert'],
    parameter_size: '22M',
    quantization_level: '',
    context_length: 8,
    embedding_length: 4,
  };

  test('/api/tags: size and date of the file if it was never loaded', async () => {
    const { service } = scriptedEmbedding();
    const file = () => ({ sizeBytes: 46, modifiedAt: Date.UTC(2026, 10, 1) });
    const { value } = await ask(withEmbedding({ ...service, facts: () => undefined, file }), 'GET', '/api/tags');
    expect(value.models[1]).toMatchObject({ size: 46, modified_at: '2026-11-01T00:00:00.000Z' });
  });

  test('/api/tags: after the text model', async () => {
    const { value } = await ask(withEmbedding(), 'GET', '/api/tags');
    expect(value.models[0].name).toBe('koboldcpp/mini:latest');
    expect(value.models[1]).toEqual({
      name: 'tiny-embed:latest',
      model: 'tiny-embed:latest',
      modified_at: '1970-01-01T00:00:00.000Z',
      size: 45,
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
      details: facts,
      capabilities: ['embedding'],
    });
  });

  test('/api/ps: once it is loaded, with its expiry', async () => {
    const { value } = await ask(withEmbedding(), 'GET', '/api/ps');
    expect(value.models[1]).toMatchObject({ name: 'tiny-embed:latest', expires_at: '2023-11-14T22:23:20.000Z' });
    const asleep = scriptedEmbedding('e', { loaded: () => false }).service;
    expect((await ask(withEmbedding(asleep), 'GET', '/api/ps')).value.models).toHaveLength(1);
  });

  test('/api/show: under its own name only', async () => {
    const shown = (await ask(withEmbedding(), 'POST', '/api/show', { model: 'Tiny-Embed:latest' })).value;
    expect(shown).toMatchObject({
      capabilities: ['embedding'],
      details: facts,
      template: '',
      model_info: { 'general.architecture': 'bert', 'bert.context_length': 8, 'bert.embedding_length': 4 },
    });
    const other = (await ask(withEmbedding(), 'POST', '/api/show', { model: 'any' })).value;
    expect(other.capabilities).toContain('completion');
  });

  test('/api/show: facts that are not known are empty, not null', async () => {
    const fresh = scriptedEmbedding('fresh', { facts: () => undefined }).service;
    const { value } = await ask(withEmbedding(fresh), 'POST', '/api/show', { model: 'fresh' });
    expect(value).toMatchObject({ model_info: { 'general.basename': 'fresh' }, details: { families: [] } });
  });

  test('capabilities: an encoder is known by its attention', async () => {
    const metadata = new Map(header().metadata);
    metadata.set('llama.attention.causal', { type: 'bool', value: false });
    const parts = { ...ollamaContext().parts, modelFile: async () => ({ ...file, header: header({ metadata }) }) };
    const { value } = await ask(parts, 'GET', '/api/tags');
    expect(value.models[0].capabilities).toEqual(['embedding']);
  });
});

function world(read: (path: string) => Promise<typeof file> = async () => file) {
  const asked: string[] = [];
  let now = 1_000_000;
  const facts = cachedFiles(
    (path) => {
      asked.push(path);
      return read(path);
    },
    () => now,
  );
  const pass = (milliseconds: number) => {
    now += milliseconds;
  };
  return { facts, asked, pass };
}

test('cachedFiles: reads a file once, also for lists at the same time', async () => {
  const { facts, asked, pass } = world();
  expect(await Promise.all([facts('/a.gguf'), facts('/a.gguf')])).toEqual([file, file]);
  pass(29_999);
  expect(await facts('/a.gguf')).toBe(file);
  expect(asked).toEqual(['/a.gguf']);
});

test('cachedFiles: reads a file again after 30 seconds', async () => {
  const { facts, asked, pass } = world();
  await facts('/a.gguf');
  pass(30_000);
  await facts('/a.gguf');
  expect(asked).toEqual(['/a.gguf', '/a.gguf']);
});

test('cachedFiles: caches each file', async () => {
  const { facts, asked } = world();
  await Promise.all([facts('/a.gguf'), facts('/b.gguf')]);
  expect(asked).toEqual(['/a.gguf', '/b.gguf']);
});

test('cachedFiles: undefined for an unreadable file, which is tried again later', async () => {
  let broken = true;
  const { facts, pass } = world(async () => {
    if (broken) throw new Error('no such file');
    return file;
  });
  expect(await facts('/a.gguf')).toBeUndefined();
  broken = false;
  pass(30_000);
  expect(await facts('/a.gguf')).toBe(file);
});
