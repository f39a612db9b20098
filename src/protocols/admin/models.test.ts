import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type {
  HeldModel,
  HubFiles,
  HubModel,
  HubSearch,
  ListedModel,
  ModelFileFacts,
  Recommendation,
} from '../../core/models-view.ts';
import type { TextModel, TextState } from '../../core/text-service.ts';
import type { Call } from '../../http/call.ts';
import { type ModelStatusContext, type ModelStatusServices, modelStatusEndpoints } from './models.ts';

const never = Number.POSITIVE_INFINITY;
const known = { path: '/m/mini.gguf', contextSize: 4096, trainedContext: 8192, parameters: 46e6, sizeBytes: 40e6 };
const ready: TextState = { type: 'ready', model: known as TextModel };
const facts: ModelFileFacts = { bytes: 1000, parameters: 500, quantization: 'Q8_0', context: 2048 };

function held(kind: string, name: string, state: HeldModel['state'], own: Partial<HeldModel> = {}): HeldModel {
  return { kind, name, state, inUse: 0, bytes: undefined, expiresAt: never, ...own };
}

const kindLabels = { text: 'Text', image: 'Image', speech: 'Speech', embedding: 'Embedding', music: 'Music' };

interface World {
  readonly state?: TextState;
  readonly list?: readonly HeldModel[];
  readonly listed?: readonly ListedModel[];
  readonly byName?: boolean;
  readonly loaded?: boolean;
  readonly services?: Partial<ModelStatusServices>;
  readonly query?: string;
}

async function ask(path: string, world: World = {}, authorization?: string) {
  const { state = ready, list = [], listed, byName = false, loaded = true } = world;
  const context: ModelStatusContext = {
    name: 'mini',
    text: { state: () => state, loaded: () => loaded } as ModelStatusContext['text'],
    modelName: () => (state.type === 'failed' ? 'inactive' : 'koboldcpp/mini'),
  };
  const endpoints = modelStatusEndpoints({
    access: { enabled: true, password: 'key' },
    owner: { type: 'none', reason: 'admin' },
    models: listed && { list: async () => listed, swap: undefined, byName },
    memory: { list: () => list },
    hasKeyFile: false,
    fileFacts: async () => facts,
    availableBytes: () => 9e9,
    kindLabels,
    ...world.services,
  });
  const headers = authorization === undefined ? {} : { authorization };
  const call = { headers, query: new URLSearchParams(world.query) } as unknown as Call;
  const reply = await endpoints.find((endpoint) => endpoint.path === path)?.handle(call, context);
  if (!reply || !('body' in reply)) throw new Error('no reply');
  return JSON.parse(String(reply.body));
}

describe('/api/extra/models', () => {
  const path = '/api/extra/models';

  test('one model: state, memory and measures, and the models of other kinds', async () => {
    const list = [
      held('text', 'mini', { type: 'ready' }, { bytes: 70e6, inUse: 1 }),
      held('speech', 'flite', { type: 'unloaded' }, { expiresAt: 0 }),
      held('image', 'sketch', { type: 'loading', progress: 0.5 }),
      held('music', 'song', { type: 'failed', reason: 'no memory' }),
    ];
    expect(await ask(path, { list })).toEqual({
      models: [
        {
          id: null,
          name: 'mini',
          base: null,
          kind: 'text',
          label: 'Text',
          default: true,
          state: 'loaded',
          progress: null,
          reason: null,
          memory_bytes: 70e6,
          file_bytes: 40e6,
          parameters: 46e6,
          quantization: 'Q8_0',
          context: 4096,
          trained_context: 8192,
          active_requests: 1,
          has_output: false,
          expires_at: null,
          pinned: false,
          previews: null,
        },
        expect.objectContaining({
          name: 'sketch',
          kind: 'image',
          label: 'Image',
          state: 'loading',
          progress: 0.5,
          memory_bytes: null,
        }),
        expect.objectContaining({ name: 'flite', state: 'unloaded', expires_at: '1970-01-01T00:00:00.000Z' }),
        expect.objectContaining({ name: 'song', state: 'failed', reason: 'no memory' }),
      ],
      available_bytes: 9e9,
      router: false,
      admin: { enabled: true, allowed: false, key_file: false, owner: 'admin' },
      last_failure: null,
      advice: null,
    });
  });

  test('a text model is listed as an embedding model only while it is loaded as one, also during a switch to it', async () => {
    const list = [
      held('text', 'mini', { type: 'leaving' }),
      held('text', 'next', { type: 'loading', progress: 0.2 }),
      held('embedding', 'next', { type: 'unloaded' }),
      held('embedding', 'mini', { type: 'ready' }),
      held('embedding', 'minilm', { type: 'unloaded' }),
    ];
    const { models } = await ask(path, { list });
    const embeddings = models.filter(({ kind }: { kind: string }) => kind === 'embedding');
    expect(embeddings.map(({ name }: { name: string }) => name)).toEqual(['mini', 'minilm']);
  });

  test.each<[World, object[]]>([
    [{ state: { type: 'none' } }, []],
    [
      { state: { type: 'failed', name: 'mini', reason: 'damaged' } },
      [{ name: 'mini', state: 'failed', reason: 'damaged' }],
    ],
    [{ loaded: false }, [{ state: 'unloaded', context: 4096 }]],
    [
      {
        state: { type: 'loading', name: 'far', progress: 0, trouble: { reason: 'refused', retryAfterSeconds: 1 } },
      },
      [{ state: 'failed', reason: 'refused' }],
    ],
  ])('%j', async (world, expected) => {
    expect((await ask(path, world)).models).toMatchObject(expected);
  });

  test('several models by name: ids, and the facts of files that were never loaded', async () => {
    const listed: ListedModel[] = [
      {
        name: 'mini',
        id: 'koboldcpp/mini',
        present: true,
        state: 'ready',
        known: known as TextModel,
        expiresAt: never,
      },
      { name: 'b', id: 'koboldcpp/b', present: false, state: 'unloaded', path: '/m/b.gguf', expiresAt: never },
    ];
    const { models, router } = await ask(path, { listed, byName: true });
    expect(router).toBe(true);
    expect(models).toMatchObject([
      { id: 'koboldcpp/mini', default: true, state: 'loaded' },
      { id: 'koboldcpp/b', default: false, state: 'unloaded', parameters: 500, quantization: 'Q8_0', context: null },
    ]);
  });

  test('says what the key may change, and why the last swap failed', async () => {
    const failure = { name: 'b', reason: 'it is damaged' };
    const swap = { options: async () => [], reload: async () => false, failure: () => failure };
    const answer = await ask(
      path,
      { services: { models: { list: async () => [], swap, byName: false } } },
      'Bearer key',
    );
    expect(answer).toMatchObject({ admin: { enabled: true, allowed: true }, last_failure: failure });
  });

  test('advice: for administrators only', async () => {
    const swap = { options: async () => [], reload: async () => false, advice: () => 'Take Q4_K_M.' };
    const world = { services: { models: { list: async () => [], swap, byName: false } } };
    expect(await ask(path, world, 'Bearer key')).toMatchObject({ advice: 'Take Q4_K_M.' });
    expect(await ask(path, world)).toMatchObject({ advice: null });
  });

  test('key_file: whether the server has one, also while it is empty', async () => {
    const answer = await ask(path, { services: { hasKeyFile: true } });
    expect(answer).toMatchObject({ admin: { key_file: true } });
  });
});

const unlisted = () => undefined;
const unsearched = () => Promise.reject(new Error('not asked'));

describe('/api/admin/search', () => {
  const path = '/api/admin/search';
  const found: HubModel = {
    id: 'acme/foo',
    downloads: 5,
    likes: null,
    changed: null,
    gated: 'no' as const,
    licence: 'mit',
    parameters: 4e9,
    architecture: 'qwen3',
    supported: true,
    context: 4096,
    tools: true,
    thinking: false,
    projector: false,
  };

  test('gives a page of models, and the cursor of the next one', async () => {
    const searches: HubSearch[] = [];
    const search = async (wanted: HubSearch) => {
      searches.push(wanted);
      return { models: [found], next: 'two' };
    };
    const services = { library: async () => ({ list: async () => [], search, files: unlisted }) };
    const answer = await ask(path, { services, query: 'q=foo+4b&sort=likes&cursor=one' }, 'Bearer key');
    expect(answer).toMatchObject({ models: [{ id: 'acme/foo', likes: null, licence: 'mit' }], next: 'two' });
    expect(searches).toEqual([{ words: 'foo 4b', order: 'likes', count: 20, cursor: 'one' }]);
  });

  test('says why it failed', async () => {
    const search = () => Promise.reject(new Error('cannot reach hub.example'));
    const answer = await ask(
      path,
      { services: { library: async () => ({ list: async () => [], search, files: unlisted }) } },
      'Bearer key',
    );
    expect(answer).toEqual({ success: false, error: 'The hub could not be searched: cannot reach hub.example.' });
  });

  test('is for administrators only', async () => {
    const services = { library: async () => ({ list: async () => [], search: unsearched, files: unlisted }) };
    await expect(ask(path, { services })).rejects.toThrow(AppError);
  });
});

describe('/api/admin/search/files', () => {
  const path = '/api/admin/search/files';
  const file = {
    name: 'Q4_K_M',
    bytes: 5e9,
    parts: 2,
    fit: 'part' as const,
    memoryBytes: 6e9,
    cardLayers: 9,
    layers: 33,
    speed: 'slow' as const,
    chosen: true,
  };
  const found: HubFiles = {
    model: 'acme/foo',
    commit: 'c0ffee',
    architecture: 'qwen3',
    supported: true,
    context: 8192,
    trainedContext: 40_960,
    files: [file],
    reason: 'It is the only one.',
    projector: { bytes: 9 },
    draft: null,
  };

  test('gives the files of a model for a context', async () => {
    const asked: unknown[] = [];
    const files = async (...parameters: unknown[]) => {
      asked.push(parameters.slice(0, 2));
      return found;
    };
    const services = { library: async () => ({ list: async () => [], search: unsearched, files }) };
    const query = 'model=acme/foo@v1&context=8192';
    expect(await ask(path, { services, query }, 'Bearer key')).toMatchObject({
      model: 'acme/foo',
      supported: true,
      trained_context: 40_960,
      projector: { bytes: 9 },
      draft: null,
      files: [{ name: 'Q4_K_M', memory_bytes: 6e9, card_layers: 9, layers: 33, speed: 'slow', chosen: true }],
    });
    await ask(path, { services, query: 'model=acme/foo&context=-1' }, 'Bearer key');
    expect(asked).toEqual([
      ['acme/foo@v1', 8192],
      ['acme/foo', undefined],
    ]);
  });

  test('says why it failed, and refuses what is no model', async () => {
    const files = () => Promise.reject(new Error('cannot reach hub.example'));
    const library = { list: async () => [], search: unsearched, files };
    const answer = await ask(
      path,
      { services: { library: async () => library }, query: 'model=acme/foo' },
      'Bearer key',
    );
    expect(answer).toEqual({ success: false, error: 'The files cannot be listed: cannot reach hub.example.' });
    const services = { library: async () => ({ ...library, files: unlisted }) };
    await expect(ask(path, { services, query: 'model=x' }, 'Bearer key')).rejects.toThrow('model must be owner/name');
  });

  test('is for administrators only', async () => {
    const services = { library: async () => ({ list: async () => [], search: unsearched, files: unlisted }) };
    await expect(ask(path, { services })).rejects.toThrow(AppError);
  });
});

test('/api/admin/recommended: what is recommended for this computer, for administrators only', async () => {
  const models = [{ purpose: 'chat', name: 'Foo', model: 'acme/foo:Q4_K_M' } as Recommendation];
  const services = {
    library: async () => ({ list: async () => [], search: unsearched, files: unlisted }),
    recommended: async () => ({ date: '2026-10', memoryBytes: 8e9, models }),
  };
  await expect(ask('/api/admin/recommended', { services })).rejects.toThrow(AppError);
  const answer = await ask('/api/admin/recommended', { services }, 'Bearer key');
  expect(answer).toEqual({ date: '2026-10', memory_bytes: 8e9, models });
});

test('/api/admin/models: lists the library for administrators only', async () => {
  const entry = { option: 'b.gguf', name: 'b.gguf', type: 'model', program: undefined, facts } as const;
  const config = { option: 'c.kcpps', name: 'c.kcpps', type: 'config', program: undefined, facts: undefined } as const;
  const services = {
    library: async () => ({ list: async () => [entry, config], search: unsearched, files: unlisted }),
  };
  expect(await ask('/api/admin/models', { services })).toEqual({ models: [] });
  const { models } = await ask('/api/admin/models', { services }, 'Bearer key');
  expect(models).toMatchObject([
    {
      filename: 'b.gguf',
      program: null,
      file_bytes: 1000,
      parameters: 500,
      quantization: 'Q8_0',
      trained_context: 2048,
    },
    { filename: 'c.kcpps', type: 'config', file_bytes: null },
  ]);
});
