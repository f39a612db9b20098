import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type NativeClient, nativeClient, neverEnding } from './client.ts';
import { runProgram } from './program.ts';
import { liveServers } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-dialects-'));
afterAll(() => rmSync(folder, { recursive: true }));

function fileOf(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

describe('server with --jinjatemplate and --gendefaults', () => {
  const template = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{% endfor %}<assistant>";
  let client: NativeClient;
  beforeAll(async () => {
    const defaults = JSON.stringify({ rep_pen: 1.3, seed: 77, max_length: 3, steps: 8 });
    const flags = ['--jinjatemplate', fileOf('good.jinja', template), '--jinja', '--gendefaults', defaults];
    client = nativeClient((await startServer([...flags, '--defaultgenamt', '64'])).base);
  });
  const post = async (path: string, body: object) => (await client.post(path, body)).json() as Record<string, unknown>;

  test('reports the model by its file, and its chat tags', async () => {
    const props = (await client.get('/props')).json();
    expect(props).toMatchObject({ model_path: 'parley-mini.gguf', eos_token: '<|im_end|>', chat_template: template });
    expect(await post('/api/show', { model: 'm' })).toMatchObject({ template });
    const models = (await client.get('/v1/models')).json();
    expect(models).toMatchObject({
      data: [{ meta: { vocab_type: 2, n_vocab: 16_384, n_ctx_train: 2048, n_embd: 512 } }],
    });
  });

  test('--gendefaults: applies under the field names of each dialect, and never sets the length', async () => {
    const { generation_settings: given } = await post('/completion', { prompt: 'Once' });
    expect(given).toMatchObject({ repeat_penalty: 1.3, seed: 77, n_predict: 64 });
    const { generation_settings: explicit } = await post('/completion', { prompt: 'Once', repeat_penalty: 1, seed: 5 });
    expect(explicit).toMatchObject({ repeat_penalty: 1, seed: 5 });
  });

  test('tokenize: partial characters are bytes; special tokens are parsed only with parse_special', async () => {
    const { tokens } = await post('/tokenize', { content: 'ꙮ', with_pieces: true });
    const bytes = (tokens as readonly { piece: string | number[] }[]).flatMap(({ piece }) =>
      typeof piece === 'string' ? [...Buffer.from(piece)] : piece,
    );
    expect(Buffer.from(bytes).toString()).toBe('ꙮ');
    expect((await post('/tokenize', { content: '<|im_end|>' })).tokens).toHaveLength(1);
    expect((await post('/tokenize', { content: '<|im_end|>', parse_special: false })).tokens).not.toHaveLength(1);
  });

  test('shared path: answers in the dialect of the request', async () => {
    const response_fields = ['generation_settings/n_predict', 'stop_type'];
    expect(await post('/completions', { prompt: 'Once', n_predict: 2, response_fields, ...neverEnding })).toEqual({
      'generation_settings/n_predict': 2,
      stop_type: 'limit',
    });
    expect(await post('/completions', { prompt: 'Once', max_tokens: 2 })).toMatchObject({ object: 'text_completion' });
  });

  test('unknown path: a page, or an error object for clients that ask for JSON', async () => {
    const path = '/v1/nowhere';
    const answer = await client.call('GET', path, undefined, { headers: { accept: 'application/json' } });
    expect(answer.json()).toMatchObject({ error: { type: 'invalid_request_error' } });
    const page = await client.get(path);
    expect([page.status, page.text.includes('href="/api"')]).toEqual([404, true]);
  });

  test('Ollama: HEAD of a blob is 404, and create is refused', async () => {
    expect((await client.call('HEAD', '/api/blobs/sha256:00')).status).toBe(404);
    expect((await client.post('/api/create', { model: 'm', from: 'x' })).json()).toEqual({
      error: expect.stringContaining('Only an administrator may do this'),
    });
  });
});

test.each([
  [['--gendefaults', '{"temperature":"hot"}'], '--gendefaults: temperature must be a number, not "hot".'],
  [['--gendefaults', '{"temprature":1}'], '--gendefaults: temprature is not a field of a request.'],
  [['--gendefaults', '[1]'], '--gendefaults needs a JSON object'],
])('%j: ends the start with code 1', async (flags, sentence) => {
  const { code, stderr } = await runProgram(['--nomodel', ...flags]);
  expect(code).toBe(1);
  expect(stderr).toContain(sentence);
});

test('--jinjatemplate: an invalid template ends the start with line and column', async () => {
  const path = fileOf('broken.jinja', 'one\n {% if x %}');
  const { code, stderr } = await runProgram(['--nomodel', '--jinjatemplate', path]);
  expect(code).toBe(1);
  expect(stderr).toContain(`${path} is no template: line 2, column 2, at {% if x %}: it has no end.`);
  expect((await runProgram(['--nomodel', '--jinjatemplate', join(folder, 'nowhere')])).code).toBe(2);
});
