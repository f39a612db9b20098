import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { embeddingModel } from '../../src/engines/weights.ts';
import { writeBert } from '../models/bert.ts';
import { nativeClient, openRequest } from './client.ts';
import { dissimilar, similar } from './embedding-pairs.ts';
import { runProgram } from './program.ts';
import { embeddedModel, type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const home = mkdtempSync(join(tmpdir(), 'parley-embed-'));
const before = process.env.PARLEY_HOME;
process.env.PARLEY_HOME = home;
afterAll(() => {
  if (before === undefined) delete process.env.PARLEY_HOME;
  else process.env.PARLEY_HOME = before;
  rmSync(home, { recursive: true });
});

const builtIn = 'all-MiniLM-L6-v2';
const dot = (one: readonly number[], other: readonly number[]): number =>
  one.reduce((sum, entry, index) => sum + entry * (other[index] ?? 0), 0);
const lengthOf = (vector: readonly number[]): number => Math.sqrt(dot(vector, vector));
const farthest = (one: readonly number[], other: readonly number[]): number =>
  Math.max(...one.map((entry, index) => Math.abs(entry - (other[index] ?? Number.NaN))));

interface EmbeddingList {
  readonly model: string;
  readonly data: readonly { readonly index: number; readonly embedding: number[] }[];
  readonly usage: { readonly prompt_tokens: number; readonly total_tokens: number };
}

/** The vectors of some texts, in one request. */
async function vectorsOf({ base }: LiveServer, input: unknown, more: object = {}): Promise<number[][]> {
  const answer = await nativeClient(base).post('/v1/embeddings', { input, ...more });
  if (answer.status !== 200) throw new Error(`${answer.status}: ${answer.text}`);
  return (answer.json() as EmbeddingList).data.map(({ embedding }) => embedding);
}

describe('server without flags', () => {
  let server: LiveServer;
  let client: ReturnType<typeof nativeClient>;
  let openai: OpenAI;
  beforeAll(async () => {
    server = await startServer();
    client = nativeClient(server.base);
    openai = new OpenAI({ baseURL: `${server.base}/v1`, apiKey: 'none', maxRetries: 0 });
  });

  test('reports embeddings; Ollama lists the model after the text model, /v1/models does not', async () => {
    expect((await client.get('/api/extra/version')).json()).toMatchObject({ embeddings: true });
    const { data } = (await client.get('/v1/models')).json() as { data: { id: string; capabilities?: string[] }[] };
    expect(data.map(({ id }) => id)).toEqual(['koboldcpp/parley-mini']);
    const { models } = (await client.get('/api/tags')).json() as { models: { name: string; capabilities: string[] }[] };
    expect(models[1]).toMatchObject({
      name: `${builtIn}:latest`,
      capabilities: ['embedding'],
      details: { family: 'bert', families: ['bert'] },
      size: embeddingModel.bytes,
    });
    // Never before this program was written.
    expect(models[1]).toMatchObject({ modified_at: expect.stringMatching(/^20[2-9]/) });
    expect(server.output()).not.toContain('Embeddings Model');
  });

  test('official OpenAI client: float and base64', async () => {
    const input = ['Hello world', 'Something else'];
    const asBytes = await openai.embeddings.create({ model: 'text-embedding-3-small', input });
    const asNumbers = await openai.embeddings.create({ model: builtIn, input, encoding_format: 'float' });
    expect(asBytes.model).toBe(builtIn);
    expect(asBytes.data.map(({ index }) => index)).toEqual([0, 1]);
    expect(asBytes.usage).toEqual({ prompt_tokens: 8, total_tokens: 8 });
    for (const [index, { embedding }] of asNumbers.data.entries()) {
      expect(embedding).toHaveLength(384);
      expect(lengthOf(embedding)).toBeCloseTo(1, 5);
      expect(farthest(embedding, asBytes.data[index]?.embedding ?? [])).toBeLessThan(1e-6);
    }
    const short = await openai.embeddings.create({ model: builtIn, input: 'Hello world', dimensions: 64 });
    const [vector = []] = short.data.map(({ embedding }) => embedding);
    expect([vector.length, lengthOf(vector)]).toEqual([64, expect.closeTo(1, 5)]);
  });

  test('official Ollama client: embed and embeddings', async () => {
    const ollama = new Ollama({ host: server.base });
    const [expected = []] = await vectorsOf(server, 'Hello world');
    const many = await ollama.embed({ model: builtIn, input: ['Hello world', 'x'], keep_alive: '5m' });
    expect(many.embeddings).toHaveLength(2);
    expect(farthest(many.embeddings[0] ?? [], expected)).toBeLessThan(1e-3);
    expect(many.total_duration).toBeGreaterThan(0);
    expect(many.load_duration).toBeGreaterThanOrEqual(0);
    expect(many.prompt_eval_count).toBe(4 + 3);
    const { embedding } = await ollama.embeddings({ model: builtIn, prompt: 'Hello world' });
    expect(dot(embedding, expected) / lengthOf(embedding)).toBeCloseTo(1, 4);
    expect(lengthOf(embedding)).toBeGreaterThan(2);
    expect((await ollama.embed({ model: builtIn, input: '' })).embeddings).toEqual([]);
  });

  test('similarity: each of 15 similar pairs is nearer than each of 15 others', async () => {
    const nearness = async (pairs: readonly (readonly [string, string])[]) => {
      const vectors = await vectorsOf(server, pairs.flat());
      return pairs.map((_, index) => dot(vectors[2 * index] ?? [], vectors[2 * index + 1] ?? []));
    };
    const [near, far] = [await nearness(similar), await nearness(dissimilar)];
    expect(near).toHaveLength(15);
    expect(far).toHaveLength(15);
    expect(Math.min(...near)).toBeGreaterThan(Math.max(...far));
  });

  test('64 texts in one batch give the same vectors as alone', async () => {
    const texts = Array.from({ length: 64 }, (_, index) => `${similar[index % 15]?.[index % 2]} Number ${index}.`);
    const together = await vectorsOf(server, texts);
    expect(together).toHaveLength(64);
    for (const index of [0, 1, 17, 42, 63]) {
      const [alone = []] = await vectorsOf(server, texts[index]);
      expect(farthest(together[index] ?? [], alone)).toBeLessThan(1e-3);
    }
  });

  test('parallel requests give the same vectors', async () => {
    // As many as are taken in at once, and no more.
    const texts = similar.slice(0, 9).map(([text]) => text);
    const alone: number[][] = [];
    for (const text of texts) alone.push(...(await vectorsOf(server, text)));
    const together = await Promise.all(texts.map((text) => vectorsOf(server, text)));
    for (const [index, [vector = []]] of together.entries()) {
      expect(farthest(vector, alone[index] ?? [])).toBeLessThan(1e-3);
    }
  });

  test('accepts token ids, also together with texts', async () => {
    const tokens = [101, 7592, 2088, 102];
    const [text = [], numbers = []] = await vectorsOf(server, ['hello world', tokens]);
    expect(farthest(text, numbers)).toBeLessThan(1e-3);
    const [alone = []] = await vectorsOf(server, tokens);
    expect(farthest(text, alone)).toBeLessThan(1e-3);
  });

  test('rerank: sorts documents by similarity', async () => {
    const documents = ['Berlin is a city.', 'Paris is the capital of France.', { text: 'Fish live in water.' }];
    const body = { query: 'What is the capital of France?', documents };
    for (const path of ['/v1/rerank', '/rerank', '/v1/reranking', '/reranking']) {
      const answer = await client.post(path, { ...body, top_n: 2, return_documents: true });
      expect(answer.json()).toMatchObject({
        object: 'list',
        model: builtIn,
        results: [{ index: 1, document: { text: 'Paris is the capital of France.' } }, { index: 0 }],
        usage: { prompt_tokens: expect.any(Number), total_tokens: expect.any(Number) },
      });
    }
    const { results } = (await client.post('/v1/rerank', body)).json() as { results: { relevance_score: number }[] };
    const scores = results.map(({ relevance_score: score }) => score);
    expect(scores).toEqual(scores.toSorted((a, b) => b - a));
    expect(scores).toHaveLength(3);
  });

  test('llama.cpp form: with one vector per token on request', async () => {
    const [expected = []] = await vectorsOf(server, 'hello world');
    const pooled = (await client.post('/embedding', { content: 'hello world' })).json() as { embedding: number[][] }[];
    expect(pooled).toHaveLength(1);
    expect(farthest(pooled[0]?.embedding[0] ?? [], expected)).toBeLessThan(1e-3);
    const short = await client.post('/embeddings', { content: 'hello world' });
    expect(short.json()).toEqual(pooled);
    const each = (
      await client.post('/embedding', { content: 'hello world', pooling: 'none', embd_normalize: -1 })
    ).json();
    const [{ embedding = [] } = {}] = each as { embedding?: number[][] }[];
    expect(embedding).toHaveLength(4);
    const mean = (embedding[0] ?? []).map((_, dimension) =>
      embedding.reduce((sum, one) => sum + (one[dimension] ?? 0), 0),
    );
    expect(dot(mean, expected) / lengthOf(mean)).toBeCloseTo(1, 4);
  });

  const long = 'word '.repeat(2000);

  test('overlong input: refused or truncated, as in each dialect', async () => {
    const refused = await client.post('/v1/embeddings', { input: ['short', long] });
    expect(refused.status).toBe(400);
    expect(refused.json()).toMatchObject({
      error: { type: 'invalid_request_error', code: 'context_length_exceeded', param: 'input[1]' },
    });
    expect(refused.text).toContain('input[1] is too large: it has 2002 tokens');
    const cut = await client.post('/v1/embeddings', { input: ['short', long], truncate: true });
    expect([cut.status, cut.headers.get('x-parley-truncated')]).toEqual([200, 'input[1]']);
    expect((cut.json() as EmbeddingList).usage.prompt_tokens).toBe(3 + 512);
    const native = await client.post('/api/extra/embeddings', { input: long });
    expect([native.status, native.headers.get('x-parley-truncated')]).toEqual([200, 'input[0]']);
    const ollama = await client.post('/api/embed', { model: 'm', input: long, truncate: false });
    expect([ollama.status, ollama.text]).toEqual([400, expect.stringContaining('exceeds the context length')]);
    expect((await client.post('/api/embed', { model: 'm', input: long })).status).toBe(200);
    const llamacpp = await client.post('/embedding', { content: long });
    expect(llamacpp.json()).toMatchObject({
      error: { code: 400, type: 'exceed_context_size_error', n_prompt_tokens: 2002, n_ctx: 512 },
    });
    const query = await client.post('/v1/rerank', { query: long, documents: ['x'] });
    expect([query.status, query.text]).toEqual([400, expect.stringContaining('query is too large')]);
    const documents = await client.post('/v1/rerank', { query: 'x', documents: ['y', long] });
    expect([documents.status, documents.headers.get('x-parley-truncated')]).toEqual([200, 'documents[1]']);
  });

  const openaiError = { error: { message: expect.any(String), type: 'invalid_request_error' } };
  const llamacppError = { error: { code: 400, message: expect.any(String) } };
  test.each<[string, unknown, object]>([
    ...[{}, { input: null }, { input: '' }, { input: [] }, { input: [''] }, { input: 5 }, { input: [[]] }].map(
      (body): [string, unknown, object] => ['/v1/embeddings', body, openaiError],
    ),
    ['/v1/embeddings', { input: [1, 'x'] }, openaiError],
    ['/v1/embeddings', { input: [1.5] }, openaiError],
    ['/v1/embeddings', { input: [-1] }, openaiError],
    ['/v1/embeddings', { input: [99_999_999] }, openaiError],
    ['/v1/embeddings', { input: 'x', dimensions: 385 }, openaiError],
    ['/v1/embeddings', { input: 'x', dimensions: 0 }, openaiError],
    ['/v1/embeddings', { input: 'x', encoding_format: 'hex' }, openaiError],
    ['/v1/embeddings', { input: Array.from({ length: 2049 }, () => 'x') }, openaiError],
    ['/v1/embeddings', [], openaiError],
    ['/api/extra/embeddings', { input: '' }, { detail: { msg: expect.any(String), type: 'bad_input' } }],
    ['/api/embed', { model: 'm', input: { a: 1 } }, { error: 'invalid input type' }],
    ['/api/embed', { model: 'm', input: 'x', keep_alive: 'soon' }, { error: expect.stringContaining('keep_alive') }],
    ['/api/embeddings', { model: 'm', prompt: 5 }, { error: 'prompt must be a string.' }],
    ['/embedding', { content: [] }, llamacppError],
    ['/embedding', {}, llamacppError],
    ['/v1/rerank', {}, llamacppError],
    ['/v1/rerank', { query: 'x' }, llamacppError],
    ['/v1/rerank', { query: 'x', documents: [] }, llamacppError],
    ['/rerank', { query: 5, documents: ['x'] }, llamacppError],
    ['/rerank', { query: 'x', documents: ['x'], top_n: 0 }, llamacppError],
  ])('POST %s: refuses invalid input with the message of its dialect (%#)', async (path, body, expected) => {
    const answer = await client.post(path, body);
    expect(answer.status).toBe(400);
    expect(answer.json()).toMatchObject(expected);
  });

  test('embeds with the text model if the request names it', async () => {
    const answer = await client.post('/v1/embeddings', { model: 'koboldcpp/parley-mini', input: ['Hello', 'Hello'] });
    const { model, data } = answer.json() as EmbeddingList;
    expect(model).toBe('koboldcpp/parley-mini');
    expect(data[0]?.embedding).toHaveLength(512);
    expect(farthest(data[0]?.embedding ?? [], data[1]?.embedding ?? [])).toBeLessThan(1e-3);
    expect(await vectorsOf(server, 'x')).toMatchObject([{ length: 384 }]);
  });
});

describe('interrupted requests', () => {
  /** Seconds of work. */
  const much = { input: Array.from({ length: 1500 }, (_, index) => `${'some words of a text '.repeat(20)} ${index}`) };
  let server: LiveServer;
  beforeAll(async () => {
    server = await startServer();
    await vectorsOf(server, 'load it');
  });

  const running = async (): Promise<void> => {
    const busy = async () => (await nativeClient(server.base).performance()).idle === 0;
    while (!(await busy())) await new Promise((resolve) => setImmediate(resolve));
  };

  test('disconnect: stops the work, and the next request is answered', async () => {
    const request = openRequest(server.base, '/v1/embeddings', much);
    await running();
    request.hangUp();
    await request.over;
    await server.says('stopped');
    expect(await vectorsOf(server, 'x')).toMatchObject([{ length: 384 }]);
  });

  test('engine crash: the request gets an error, and the next one a new engine', async () => {
    const killed = server.worker('embedding') as number;
    const answer = nativeClient(server.base).post('/v1/embeddings', much);
    await running();
    process.kill(killed, 'SIGKILL');
    expect([(await answer).status, (await answer).json()]).toEqual([
      500,
      { error: expect.objectContaining({ message: expect.stringContaining('The embedding engine stopped') }) },
    ]);
    expect(await vectorsOf(server, 'x')).toMatchObject([{ length: 384 }]);
    expect(server.worker('embedding')).not.toBe(killed);
  });
});

describe('--embeddingsmodel', () => {
  const file = (name: string): string => join(home, name);

  test('rerankers: score pairs, and refuse embeddings', async () => {
    await writeBert(file('ranker.gguf'), 'rank');
    const server = await startServer(['--nomodel', '--embeddingsmodel', file('ranker.gguf')]);
    await server.says('pooling rank');
    const client = nativeClient(server.base);
    const rank = async (documents: readonly string[]) => {
      const answer = await client.post('/v1/rerank', { query: 'abc def', documents });
      const { model, results } = answer.json() as {
        model: string;
        results: { index: number; relevance_score: number }[];
      };
      expect(model).toBe('ranker');
      return results;
    };
    const documents = ['abc', 'xyz', 'hello there', 'abc def', 'q'];
    const together = await rank(documents);
    expect(new Set(together.map(({ relevance_score: score }) => score)).size).toBe(5);
    for (const { index, relevance_score: score } of together) {
      const [alone] = await rank([documents[index] as string]);
      expect(alone?.relevance_score).toBeCloseTo(score, 3);
    }
    const long = await client.post('/v1/rerank', { query: 'a', documents: ['b '.repeat(500)], truncate: false });
    expect([long.status, long.text]).toEqual([400, expect.stringContaining('documents[0] is too large')]);
    const refused = await client.post('/v1/embeddings', { input: 'x' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('use /v1/rerank')]);
    expect((await client.post('/embedding', { content: 'x', pooling: 'mean' })).status).toBe(200);
    await server.stop();
  });

  test('models without pooling: embed only in the llama.cpp form', async () => {
    await writeBert(file('tokens.gguf'), 'none');
    const server = await startServer([
      '--nomodel',
      '--embeddingsmodel',
      file('tokens.gguf'),
      '--embeddingsmaxctx',
      '16',
    ]);
    const client = nativeClient(server.base);
    const [{ embedding = [] } = {}] = (await client.post('/embedding', { content: 'abc' })).json() as {
      embedding?: number[][];
    }[];
    expect(embedding).toHaveLength(5);
    const refused = await client.post('/v1/embeddings', { input: 'abc' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('use POST /embedding')]);
    const long = await client.post('/embedding', { content: 'abcdefghijklmnopqrst' });
    expect([long.status, long.text]).toEqual([400, expect.stringContaining('reads at most 16')]);
    await server.stop();
  });

  test.each(['cls', 'last', 'mean'] as const)('pooling of the model is used: %s', async (pooling) => {
    await writeBert(file(`${pooling}.gguf`), pooling);
    const server = await startServer(['--nomodel', '--embeddingsmodel', file(`${pooling}.gguf`)]);
    const ask = async (more: object) => {
      const answer = await nativeClient(server.base).post('/embedding', { content: 'abc', ...more });
      return (answer.json() as { embedding: number[][] }[])[0]?.embedding ?? [];
    };
    const [own = []] = await ask({});
    const each = await ask({ pooling: 'none', embd_normalize: -1 });
    const mean = (each[0] ?? []).map((_, dimension) => each.reduce((sum, one) => sum + (one[dimension] ?? 0), 0));
    const expected = { cls: each[0], last: each.at(-1), mean }[pooling] ?? [];
    expect(dot(own, expected) / lengthOf(expected)).toBeCloseTo(1, 4);
    await server.stop();
  });

  test('invalid file: ends the start with an error', async () => {
    writeFileSync(file('junk.gguf'), 'no model');
    const junk = await runProgram(['--nomodel', '--port', '0', '--embeddingsmodel', file('junk.gguf')]);
    expect(junk.code).toBe(3);
    expect(junk.stdout + junk.stderr).toContain('junk could not be loaded');
    const nobody = await runProgram(['--nomodel', '--port', '0', '--embeddingsmodel', file('nobody.gguf')]);
    expect(nobody.code).toBe(2);
  });

  test('--routermode: a request selects the file by name', async () => {
    const folder = mkdtempSync(join(home, 'many-'));
    await writeBert(join(folder, 'small-bert.gguf'), 'mean');
    copyFileSync(embeddedModel, join(folder, 'other.gguf'));
    const server = await startServer(['--routermode', '--admindir', folder]);
    const client = nativeClient(server.base);
    const widths: unknown[] = [];
    for (const model of ['small-bert', 'koboldcpp/other', builtIn, undefined]) {
      const answer = (await client.post('/v1/embeddings', { model, input: 'abc' })).json() as EmbeddingList;
      widths.push([answer.model, answer.data[0]?.embedding.length]);
    }
    expect(widths).toEqual([
      ['koboldcpp/small-bert', 32],
      ['koboldcpp/other', 512],
      [builtIn, 384],
      [builtIn, 384],
    ]);
    // Vectors of another model than the one that was named would be wrong.
    expect((await client.post('/v1/embeddings', { model: 'other-embedder', input: 'abc' })).status).toBe(404);
    // Apps have this name built in: it means the default model.
    expect((await client.post('/v1/embeddings', { model: 'text-embedding-3-small', input: 'abc' })).status).toBe(200);
    const { models } = (await client.get('/api/tags')).json() as { models: { name: string; capabilities: string[] }[] };
    const bert = models.find(({ name }) => name.includes('small-bert'));
    expect(bert?.capabilities).toEqual(['embedding']);
    await server.stop();
  });
});
