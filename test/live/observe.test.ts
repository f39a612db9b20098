import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { neverEnding } from './client.ts';
import { runProgram } from './program.ts';
import { type LiveServer, liveServers } from './server.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code: number };
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** A collector that keeps the spans it gets, and wakes up who waits for some. */
async function collector() {
  const spans: Span[] = [];
  const headers: unknown[] = [];
  const listeners = new Set<() => void>();
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    headers.push(request.headers.authorization);
    if (request.url === '/v1/traces') spans.push(...JSON.parse(text).resourceSpans[0].scopeSpans[0].spans);
    response.setHeader('content-type', 'application/json').end('{}');
    for (const listener of [...listeners]) listener();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  /** The spans of a request, once they are here. */
  const tree = (requestId: string): Promise<{ readonly request: Span; readonly phases: readonly Span[] }> =>
    new Promise((resolve) => {
      const look = (): void => {
        const request = spans.find((span) => attribute(span, 'parley.request_id') === requestId);
        if (!request) return;
        listeners.delete(look);
        resolve({ request, phases: spans.filter(({ parentSpanId }) => parentSpanId === request.spanId) });
      };
      listeners.add(look);
      look();
    });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    tree,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

const attribute = ({ attributes }: Span, name: string): unknown =>
  Object.values(attributes.find(({ key }) => key === name)?.value ?? {})[0];

const startServer = liveServers();
let traces: Awaited<ReturnType<typeof collector>>;
let server: LiveServer;
let replies: ReadonlyMap<string, Awaited<ReturnType<typeof ask>>>;

/** All requests run beside one another, because spans are sent only every few seconds. */
beforeAll(async () => {
  traces = await collector();
  server = await startServer([
    '--logformat',
    'json',
    '--quiet',
    '--password',
    'open-sesame',
    '--trace',
    traces.url,
    '--onready',
    'echo ready for work',
  ]);
  const sent = requests.map(([, path, body]) => ask(`${path}?note=open-sesame`, body, { traceparent: client }));
  replies = new Map((await Promise.all(sent)).map((reply, place) => [requests[place]?.[1] ?? '', reply]));
});
afterAll(() => traces.close());

const auth = { authorization: 'Bearer open-sesame', 'x-api-key': 'open-sesame' };
const client = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';

const ask = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
  const reply = await fetch(`${server.base}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...auth, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await reply.text();
  return { status: reply.status, id: reply.headers.get('x-request-id') ?? '', text };
};

const lines = (): readonly Record<string, unknown>[] =>
  server
    .output()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line));

/** The line of a request, once it is written. */
async function lineOf(id: string): Promise<Record<string, unknown>> {
  await server.says(`"request_id":"${id}"`);
  return lines().find(({ request_id }) => request_id === id) ?? {};
}

async function sample(metric: string, labels: string): Promise<number> {
  const reply = await fetch(`${server.base}/metrics`, { headers: auth });
  const line = (await reply.text()).split('\n').find((one) => one.startsWith(`${metric}{${labels}} `));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

const messages = [{ role: 'user', content: 'Hello' }];
const texts = [
  ['openai', '/v1/chat/completions', { messages, max_tokens: 4, temperature: 0, ...neverEnding, stream: true }],
  ['messages', '/v1/messages', { model: 'any', messages, max_tokens: 4, temperature: 0, ...neverEnding }],
  ['responses', '/v1/responses', { input: 'Hello', max_output_tokens: 4, temperature: 0, ...neverEnding }],
  [
    'ollama',
    '/api/generate',
    { model: '', prompt: 'Once', options: { num_predict: 4, temperature: 0, ...neverEnding } },
  ],
  ['native', '/api/v1/generate', { prompt: 'Once', max_length: 4, temperature: 0, ...neverEnding }],
  ['llamacpp', '/completion', { prompt: 'Once', n_predict: 4, temperature: 0, ...neverEnding }],
] as const;
const refused = [
  ['messages', '/v1/messages/count_tokens', '{"messages": oops', 400, 'invalid-json'],
  ['none', '/nowhere/at/all', '{}', 404, 'not-found'],
] as const;
const embedding = ['openai', '/v1/embeddings', { input: 'weather' }] as const;
const requests: readonly (readonly [family: string, path: string, body: unknown, ...rest: unknown[]])[] = [
  ...texts,
  ...refused,
  embedding,
];
const replyOf = (path: string) => replies.get(path) ?? { status: 0, id: '', text: '' };

describe('observing requests', () => {
  test.each(texts)('%s: a generation is a line, spans and counts under its request id', async (family, path) => {
    const { status, id } = replyOf(path);
    expect(status).toBe(200);
    const line = await lineOf(id);
    expect(line).toMatchObject({
      event: 'request',
      level: 'info',
      family,
      path,
      method: 'POST',
      status: 200,
      outcome: 'done',
      remote: '127.0.0.1',
      model: 'parley-mini',
      work: ['text'],
      completion_tokens: 4,
      finish_reason: 'length',
    });
    for (const field of ['duration_ms', 'queue_ms', 'load_ms', 'first_token_ms', 'prompt_ms', 'prompt_tokens'])
      expect(line[field], field).toBeTypeOf('number');
    const { request, phases } = await traces.tree(id);
    expect(request).toMatchObject({
      traceId: '0af7651916cd43dd8448eb211c80319c',
      parentSpanId: 'b7ad6b7169203331',
      name: `POST ${path}`,
      kind: 2,
      status: { code: 0 },
    });
    expect(attribute(request, 'gen_ai.usage.output_tokens')).toBe('4');
    expect(phases.map(({ name }) => name)).toEqual(['body', 'queue', 'load', 'prompt', 'generation']);
    for (const phase of phases) {
      expect(phase.traceId).toBe(request.traceId);
      expect(phase.spanId).toMatch(/^[0-9a-f]{16}$/);
      expect(BigInt(phase.startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(request.startTimeUnixNano));
      expect(BigInt(phase.endTimeUnixNano)).toBeLessThanOrEqual(BigInt(request.endTimeUnixNano));
    }
    const labels = `family="${family}",status="200",outcome="done"`;
    expect(await sample('parley_time_to_first_token_seconds_count', labels)).toBe(1);
    expect(await sample('parley_time_between_tokens_seconds_count', labels)).toBe(3);
    expect(await sample('parley_reply_tokens_per_second_count', labels)).toBe(1);
    const jobs = family === embedding[0] ? 2 : 1;
    expect(await sample('parley_http_request_queue_seconds_count', labels)).toBe(jobs);
  });

  test('the numbers of threads are in the metrics', async () => {
    expect(await sample('parley_threads', 'phase="decode"')).toBe(1);
    expect(await sample('parley_threads', 'phase="prefill"')).toBe(1);
  });

  test('a task has a span of its own', async () => {
    const { status, id } = replyOf(embedding[1]);
    expect(status).toBe(200);
    expect(await lineOf(id)).toMatchObject({ event: 'request', work: ['embedding'], model: 'all-MiniLM-L6-v2' });
    const { request, phases } = await traces.tree(id);
    expect(phases.map(({ name }) => name)).toEqual(['body', 'queue', 'load embedding', 'task embedding']);
    expect(attribute(request, 'gen_ai.operation.name')).toBe('embeddings');
  });

  test.each(refused)('%s: a refused request is a line and a count of its status', async (...one) => {
    const [family, path, , status, code] = one;
    const reply = replyOf(path);
    expect(reply.status).toBe(status);
    expect(await lineOf(reply.id)).toMatchObject({ event: 'refused', level: 'warn', status, error: { code } });
    expect((await traces.tree(reply.id)).request.status).toEqual({ code: 0 });
    const labels = `family="${family}",status="${status}",outcome="failed"`;
    expect(await sample('parley_http_requests_total', labels)).toBe(1);
  });

  test('a client that leaves a stream is told apart from one that got its reply', async () => {
    const control = new AbortController();
    const reply = await fetch(`${server.base}/api/extra/generate/stream`, {
      method: 'POST',
      headers: auth,
      body: JSON.stringify({ prompt: 'Once', max_length: 1600, ban_eos_token: true }),
      signal: control.signal,
    });
    const reader = reply.body?.getReader();
    await reader?.read();
    control.abort();
    const id = reply.headers.get('x-request-id') ?? '';
    expect(await lineOf(id)).toMatchObject({ status: 200, outcome: 'client-gone', finish_reason: 'aborted' });
    const labels = 'family="native",status="200",outcome="client-gone"';
    expect(await sample('parley_http_requests_total', labels)).toBe(1);
  });

  test('every line is an object with time, level and event; none has a key, a query or a text of a chat', async () => {
    expect(await server.stop()).toBe(0);
    for (const line of lines()) {
      expect(line).toMatchObject({ level: expect.any(String), event: expect.any(String) });
      expect(new Date(String(line.time)).toISOString()).toBe(line.time);
    }
    expect(lines().map(({ event }) => event)).toEqual(
      expect.arrayContaining(['message', 'start', 'load', 'onready', 'stop']),
    );
    expect(server.output()).not.toMatch(/open-sesame|Hello|oops|b7ad6b7169203331/);
  });
});

test('--logformat json: a start that fails says why in objects, and wrong flags too', async () => {
  const flags = ['--logformat', 'json', '--skiplauncher'];
  const starts = [
    ['--model', '/nowhere.gguf'],
    ['--trace', 'nonsense'],
  ].map((wrong) => runProgram([...flags, ...wrong]));
  for (const { code, stdout, stderr } of await Promise.all(starts)) {
    expect(code).not.toBe(0);
    const all = `${stdout}${stderr}`.split('\n').filter(Boolean);
    expect(all.map((line) => JSON.parse(line).level)).toContain('error');
  }
});

test('--trace: a collector that is away is named, and neither requests nor the end wait for it', async () => {
  const away = await startServer(['--nomodel', '--trace', 'http://127.0.0.1:9']);
  expect((await fetch(`${away.base}/api/extra/version`)).status).toBe(200);
  expect(await away.stop()).toBe(0);
  expect(away.output()).toContain('Traces cannot be sent to http://127.0.0.1:9 (--trace)');
});
