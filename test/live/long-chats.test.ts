import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { nativeClient, readFrames } from './client.ts';
import { type LiveServer, liveServers } from './server.ts';

const startServer = liveServers();
const folder = mkdtempSync(join(tmpdir(), 'parley-templates-'));
afterAll(() => rmSync(folder, { recursive: true }));

const chat = (length: number) =>
  Array.from({ length }, (_, index) => ({ role: index % 2 ? 'assistant' : 'user', content: 'a' }));

function templateFile(name: string, source: string): string {
  const path = join(folder, name);
  writeFileSync(path, source);
  return path;
}

/** Asks for the health of the server again and again until the work is done, and tells how often it answered. */
async function healthDuring(base: string, work: Promise<unknown>): Promise<number> {
  let answered = 0;
  let over = false;
  void work.finally(() => {
    over = true;
  });
  while (!over) {
    const reply = await fetch(`${base}/health`);
    expect(reply.status).toBe(200);
    await reply.text();
    answered++;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return answered;
}

describe('a chat of 60,000 messages', () => {
  const body = { max_tokens: 4, messages: chat(60_000) };
  let server: LiveServer;
  beforeAll(async () => {
    server = await startServer(['--quiet', '--parallelrequests', '2']);
  });

  test.each([
    ['/v1/chat/completions', body],
    ['/v1/messages', body],
    ['/v1/responses', { max_output_tokens: 4, input: body.messages }],
    ['/api/chat', { model: 'x', messages: body.messages, stream: false }],
  ])('to %s: is refused for its length, and other requests are served meanwhile', async (path, sent) => {
    const client = nativeClient(server.base);
    const refused = client.post(path, sent);
    const story = client.stream({ prompt: 'Once upon a time', max_length: 100 });
    const answered = await healthDuring(server.base, Promise.all([refused, story]));
    expect(answered).toBeGreaterThan(10);
    const { status, text } = await refused;
    expect([status, text]).toEqual([400, expect.stringMatching(/context|too long/)]);
    const frames = readFrames((await story).answer.text);
    expect(frames.length).toBeGreaterThan(20);
    expect(frames.at(-1)?.data.finish_reason).toBeTruthy();
  });
});

describe('chat template of a model', () => {
  test('renders a long chat in a thread as it renders a short one', async () => {
    const source = '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}<reply>';
    const file = templateFile('plain.jinja', source);
    const server = await startServer(['--quiet', '--jinja', '--jinjatemplate', file]);
    const client = nativeClient(server.base);
    for (const length of [2, 300, 302, 5000]) {
      const { prompt } = (await client.post('/apply-template', { messages: [...chat(length), ...chat(1)] })).json() as {
        prompt: string;
      };
      expect(prompt).toBe(`${'<user>a<assistant>a'.repeat(length / 2)}<user>a<reply>`);
    }
    await server.stop();
  });

  test('template that exhausts memory: ends its thread, not the server', async () => {
    const greedy =
      "{% set ns = namespace(t='xxxxxxxx') %}{% for a in range(40) %}{% set ns.t = ns.t + ns.t %}{% endfor %}{{ ns.t }}";
    const server = await startServer(['--jinja', '--jinjatemplate', templateFile('greedy.jinja', greedy)]);
    const client = nativeClient(server.base);
    expect((await client.post('/v1/chat/completions', { max_tokens: 4, messages: chat(1) })).status).toBe(200);
    // In a thread, and then between the tags of the adapter, where it is too long for this model.
    const long = await client.post('/v1/chat/completions', { max_tokens: 4, messages: chat(501) });
    expect([long.status, long.text]).toEqual([400, expect.stringContaining('maximum context length')]);
    await server.says('The chat template failed');
    await server.stop();
  });

  test('endless template: others are served meanwhile, and a disconnect terminates the rendering', async () => {
    const rounds = '{% for a in range(9000) %}{% for b in range(9000) %}{% set c = a %}{% endfor %}{% endfor %}';
    const all = '{% for m in messages %}[{{ m.content }}]{% endfor %}';
    const endless = templateFile('endless.jinja', `{% if messages|length > 500 %}${rounds}{% endif %}${all}`);
    const server = await startServer(['--jinja', '--jinjatemplate', endless]);
    const client = nativeClient(server.base);
    const controller = new AbortController();
    // More than there are threads.
    const cancelled = [1, 2, 3].map(() =>
      client.post('/v1/chat/completions', { max_tokens: 4, messages: chat(501) }, { signal: controller.signal }),
    );
    const over = Promise.allSettled(cancelled);
    // Each answer is a turn of the server in which they were not served.
    for (let answered = 0; answered < 100; answered += 1) expect((await client.get('/health')).status).toBe(200);
    controller.abort();
    expect((await over).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    // In a thread as well, which is free without the time limit of the others.
    const { prompt } = (await client.post('/apply-template', { messages: chat(301) })).json() as { prompt: string };
    expect(prompt.split('][')).toHaveLength(301);
    await server.stop();
    expect(server.output()).not.toContain('does not come to an end');
  });
});
