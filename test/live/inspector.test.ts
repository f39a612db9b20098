import { expect, test } from 'vitest';
import { answerFault } from '../fuzz/answer.ts';
import { fetchDocument, nameOf } from '../fuzz/document.ts';
import { liveServers, untrainedServers } from './server.ts';

const start = liveServers();
const startUntrained = untrainedServers();

interface Listed {
  readonly id: string;
  readonly path: string;
  readonly streamed: boolean;
  readonly outcome: string;
  readonly model: string | null;
}

interface Detail extends Listed {
  readonly response: { readonly text: string };
  readonly generations: readonly { readonly prompt: string; readonly prompt_tokens: number }[];
  readonly dialects: readonly { readonly name: string; readonly shows: string }[];
}

interface Replay {
  readonly lost: readonly { readonly field: string }[];
  readonly streamed: { readonly status: number; readonly text: string };
  readonly whole: { readonly status: number; readonly text: string };
}

interface Reported {
  readonly history: readonly {
    readonly task: string | null;
    readonly cached_tokens: number;
    readonly computed_tokens: number;
    readonly loss: { readonly cause: string; readonly before: string } | null;
  }[];
}

const secrets = { password: 'marked-password-1', adminpassword: 'marked-admin-2', sent: 'sk-marked-key-3' };

const chat = { messages: [{ role: 'user', content: `Say hello. ${secrets.password}` }], temperature: 0, max_tokens: 6 };
const text = { prompt: `Once upon ${secrets.adminpassword} a`, temperature: 0 };

/** One request of each dialect, streamed and not. */
const sent: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', { ...chat, stream: true, stream_options: { include_usage: true } }],
  ['/v1/chat/completions', { ...chat, logprobs: true, top_logprobs: 2 }],
  ['/v1/responses', { input: 'Say hello.', max_output_tokens: 6, temperature: 0, stream: true }],
  ['/v1/messages', { ...chat, system: 'Be brief.', stream: true }],
  ['/api/chat', { messages: chat.messages, options: { num_predict: 6, temperature: 0 } }],
  ['/api/generate', { prompt: 'Say hello.', options: { num_predict: 6, temperature: 0 }, stream: false }],
  ['/v1/completions', { ...text, max_tokens: 6, echo: true, logprobs: 1 }],
  ['/api/v1/generate', { ...text, max_length: 6 }],
  ['/api/extra/generate/stream', { ...text, max_length: 6 }],
  ['/completion', { ...text, n_predict: 6, stream: true }],
];

/** Texts can be shown in the dialects of texts, chats in all. */
const texts = ['/v1/completions', '/api/v1/generate', '/api/extra/generate/stream', '/completion'];

/** Ids and times are those of the record, comments are no part of a reply. */
const comparable = (reply: string): string =>
  reply
    .replace(/"(id|item_id|response_id|created|created_at|completed_at|\w+_duration)":("[^"]*"|[\d.]+)/g, '"$1":0')
    .replace(/^:.*\n\n?/gm, '');

test('inspector: every request is shown, and replayed in its own dialect with the same bytes', async () => {
  const { base } = await start([
    ...['--admin', '--inspect', '20', '--password', secrets.password, '--adminpassword', secrets.adminpassword],
    ...['--ctx-size', '1024'],
  ]);
  const call = async (path: string, body?: object, key = secrets.adminpassword, headers = {}) => {
    const response = await fetch(base + path, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    return { status: response.status, text: await response.text() };
  };
  for (const [path, body] of sent) {
    const { status } = await call(path, body, secrets.password, { 'x-api-key': secrets.sent });
    expect(status, path).toBe(200);
  }
  expect((await call('/v1/chat/completions', { messages: 'none' })).status).toBe(400);

  // Only for administrators.
  expect((await call('/api/extra/requests', undefined, 'wrong')).status).toBe(401);
  expect((await call('/api/extra/requests', undefined, secrets.password)).status).toBe(403);
  const api = await fetchDocument(base);
  const everything: string[] = [];
  const read = async <Answer>(path: string, body?: object): Promise<Answer> => {
    const { status, text: answer } = await call(path, body);
    expect(status, `${path} ${answer.slice(0, 200)}`).toBe(200);
    everything.push(answer);
    const name = `${body ? 'POST' : 'GET'} ${path.replace(/req_\w+/, '{id}')}`;
    const operation = api.operations.find((one) => nameOf(one) === name);
    if (!operation) throw new Error(`${name} is not documented`);
    const sentAnswer = { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(answer) };
    expect(answerFault(sentAnswer, operation, api), path).toBeUndefined();
    return JSON.parse(answer) as Answer;
  };
  // The last one may still be ending.
  await expect
    .poll(async () => (await read<{ requests: Listed[] }>('/api/extra/requests')).requests[0]?.outcome)
    .toBe('refused');
  const { requests } = await read<{ requests: Listed[] }>('/api/extra/requests');
  expect(requests.map(({ path }) => path)).toEqual(['/v1/chat/completions', ...sent.map(([path]) => path).reverse()]);

  for (const listed of requests.slice(1)) {
    const detail = await read<Detail>(`/api/extra/requests/${listed.id}`);
    expect(detail).toMatchObject({ outcome: 'completed', model: expect.stringContaining('parley-mini') });
    expect(detail.generations[0]?.prompt_tokens, listed.path).toBeGreaterThan(0);
    for (const { name, shows } of detail.dialects) {
      const path = `/api/extra/requests/${listed.id}/replay`;
      if (shows === 'impossible') {
        expect((await call(path, { as: name })).status, `${listed.path} as ${name}`).toBe(409);
        continue;
      }
      const replay = await read<Replay>(path, { as: name });
      expect([replay.streamed.status, replay.whole.status], `${listed.path} as ${name}`).toEqual([200, 200]);
      if (shows !== 'own') continue;
      const again = listed.streamed ? replay.streamed.text : replay.whole.text;
      expect(comparable(again), listed.path).toBe(comparable(detail.response.text));
    }
    const rendered = detail.dialects.filter(({ shows }) => shows !== 'impossible');
    expect(rendered, listed.path).toHaveLength(texts.includes(listed.path) ? 4 : 7);
  }
  expect((await call(`/api/extra/requests/${requests[0]?.id}/replay`, { as: 'openai' })).status).toBe(409);
  expect((await call(`/api/extra/requests/${requests[1]?.id}/replay`, { as: 'latin' })).status).toBe(400);
  expect((await call('/api/extra/requests/req_none')).status).toBe(404);
  for (const secret of Object.values(secrets)) expect(everything.some((one) => one.includes(secret))).toBe(false);
  expect(everything.some((one) => one.includes('[redacted]'))).toBe(true);
});

test('conversations: each turn of a long one has a line on the console, and side requests do not end it', async () => {
  const { base, says } = await startUntrained(['--ctx-size', '4096']);
  const headers = { 'content-type': 'application/json', 'user-agent': 'claude-cli/2.1.325 (external, cli)' };
  const ask = async (messages: readonly object[], system: string): Promise<object> => {
    const body = JSON.stringify({ messages, system, max_tokens: 4, temperature: 0 });
    const reply = await (await fetch(`${base}/v1/messages`, { method: 'POST', headers, body })).json();
    return { role: 'assistant', content: (reply as { content: object }).content };
  };
  const system = (time: string) => `It is ${time}. ${'Count the birds on the shore. '.repeat(160)}`;
  const user = (content: string) => ({ role: 'user', content });
  const messages: object[] = [user('How many?')];
  messages.push(await ask(messages, system('12:30')), user('And now?'));
  await says('Claude Code #1, turn 1: 0 of ');
  await ask([user('<session>\nHow many?\n</session>')], 'Write a title.');
  await says('Claude Code #1, side request (title): ');
  messages.push(await ask(messages, system('12:30')), user('And then?'));
  await says('Claude Code #1, turn 2: ');
  await ask(messages, system('12:31'));
  await says('the prompt differs at token ');

  const api = await fetchDocument(base);
  const answer = await (await fetch(`${base}/api/extra/conversations`)).text();
  const operation = api.operations.find((one) => nameOf(one) === 'GET /api/extra/conversations');
  if (!operation) throw new Error('it is not documented');
  const sentAnswer = { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(answer) };
  expect(answerFault(sentAnswer, operation, api)).toBeUndefined();
  const { conversations } = JSON.parse(answer) as { conversations: readonly Reported[] };
  expect(conversations).toMatchObject([{ client: 'Claude Code', turns: 3, side_requests: 1 }]);
  const [first, title, second, third] = conversations[0]?.history ?? [];
  expect([first?.cached_tokens, title?.task]).toEqual([0, 'title']);
  // Only what is new was computed, although the title came between.
  expect(second?.computed_tokens).toBeLessThan(64);
  expect(third?.loss).toMatchObject({ cause: 'changed', before: expect.stringContaining('It is 12') });
  expect(JSON.stringify(conversations)).not.toContain('How many');
});
