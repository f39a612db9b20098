import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import { nativeClient, neverEnding } from '../live/client.ts';
import { askChat } from './ask.ts';
import { becomesBusy, becomesIdle, queueEmpties } from './idle.ts';
import { liveClients } from './live-clients.ts';
import { clock, greeting, introducing, introduction, longStory, longStoryTokens, weather } from './questions.ts';

const live = liveClients();

const model = 'any';
const hello = [{ role: 'user' as const, content: greeting }];
const messages = [{ role: 'user' as const, content: longStory }];
const endless = { model, messages, temperature: 0, max_tokens: longStoryTokens, ...neverEnding };
const endlessResponse = { model, input: longStory, temperature: 0, max_output_tokens: longStoryTokens, ...neverEnding };
const endlessOllama = {
  model,
  messages,
  options: { temperature: 0, num_predict: longStoryTokens, ...neverEnding },
};

/** The work is given up at once, and the next one is answered. */
async function freed(): Promise<void> {
  const { last_token_count: made } = await becomesIdle(live.server.base);
  expect(made).toBeLessThan(longStoryTokens);
  const reply = await askChat(live.openai, false, { messages: hello, ...introducing });
  expect(reply.choices[0]?.message.content).toBe(introduction);
}

describe('disconnect during a stream: frees the engine', () => {
  test('chat completions', async () => {
    const stream = await live.openai.chat.completions.create({ ...endless, stream: true });
    let pieces = 0;
    for await (const _ of stream) {
      pieces += 1;
      if (pieces === 5) stream.controller.abort();
    }
    expect(pieces).toBeLessThan(longStoryTokens);
    await freed();
  });

  test('chat completions, by leaving the loop', async () => {
    for await (const chunk of await live.openai.chat.completions.create({ ...endless, stream: true })) {
      if (chunk.choices[0]?.delta.content) break;
    }
    await freed();
  });

  test('Responses', async () => {
    const stream = await live.openai.responses.create({ ...endlessResponse, stream: true });
    let id = '';
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      if (event.type === 'response.output_text.delta') stream.controller.abort();
    }
    await freed();
    await expect(live.openai.responses.retrieve(id)).rejects.toBeInstanceOf(OpenAI.NotFoundError);
  });

  test('Messages', async () => {
    const stream = live.anthropic.messages.stream(endless);
    stream.on('text', () => stream.abort());
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIUserAbortError);
    await freed();
  });

  test('Ollama', async () => {
    const stream = await live.ollama.chat({ ...endlessOllama, stream: true });
    const read = async () => {
      for await (const { message } of stream) if (message.content) stream.abort();
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
    await freed();
  });
});

describe('disconnect during a whole reply: frees the engine', () => {
  test.each<[string, (signal: AbortSignal) => Promise<unknown>]>([
    ['chat completions', (signal) => live.openai.chat.completions.create(endless, { signal })],
    ['Responses', (signal) => live.openai.responses.create(endlessResponse, { signal })],
    ['Messages', (signal) => live.anthropic.messages.create(endless, { signal })],
  ])('%s', async (_, ask) => {
    const leaving = new AbortController();
    const reply = ask(leaving.signal);
    reply.catch(() => undefined);
    await becomesBusy(live.server.base);
    leaving.abort();
    await expect(reply).rejects.toThrow(/abort/i);
    await freed();
  });

  test('Ollama', async () => {
    const leaving = new AbortController();
    const fetchUntil: typeof fetch = (input, init) => fetch(input, { ...init, signal: leaving.signal });
    const reply = new Ollama({ host: live.server.base, fetch: fetchUntil }).chat({ ...endlessOllama, stream: false });
    reply.catch(() => undefined);
    await becomesBusy(live.server.base);
    leaving.abort();
    await expect(reply).rejects.toThrow(/abort/i);
    await freed();
  });
});

test('disconnect while waiting: frees the place, and the running request continues', async () => {
  const working = await live.openai.chat.completions.create({ ...endless, stream: true });
  const waiting = new AbortController();
  const reply = live.openai.chat.completions.create({ ...endless, max_tokens: 5 }, { signal: waiting.signal });
  reply.catch(() => undefined);
  await nativeClient(live.server.base).performanceWhere(({ queue }) => queue === 1);
  waiting.abort();
  await expect(reply).rejects.toBeInstanceOf(OpenAI.APIUserAbortError);
  const { idle } = await queueEmpties(live.server.base);
  expect(idle).toBe(0);
  for await (const { choices } of working) if (choices[0]?.delta.content) break;
  await freed();
});

test('disconnect during the choice of a tool: frees the engine', async () => {
  const leaving = new AbortController();
  const tools = [weather, clock].map((tool) => ({ type: 'function' as const, function: tool }));
  const stream = live.openai.chat.completions.create({ ...endless, tools, stream: true }, { signal: leaving.signal });
  stream.catch(() => undefined);
  await becomesBusy(live.server.base);
  leaving.abort();
  await expect(stream).rejects.toThrow(/abort/i);
  await freed();
});

describe('genkey in the body', () => {
  test('check and abort work by genkey', async () => {
    const native = nativeClient(live.server.base);
    const genkey = 'KCPP4242';
    const stream = await live.openai.chat.completions.create({ ...endless, stream: true, ...{ genkey } });
    let text = '';
    let seen = '';
    let reason: string | null | undefined;
    for await (const { choices } of stream) {
      text += choices[0]?.delta.content ?? '';
      reason = choices[0]?.finish_reason ?? reason;
      if (seen !== '' || text.length < 20) continue;
      seen = await native.check(genkey);
      expect(await native.check('KCPP9999')).toBe('');
      const refused = await native.post('/api/extra/abort', { genkey: 'KCPP9999' });
      expect(refused.json()).toMatchObject({ success: 'false' });
      const answer = await native.post('/api/extra/abort', { genkey });
      expect(answer.json()).toMatchObject({ success: 'true' });
    }
    expect(seen.length).toBeGreaterThanOrEqual(20);
    expect(text.startsWith(seen)).toBe(true);
    expect(reason).toBe('length');
    await becomesIdle(live.server.base);
    expect(await native.check(genkey)).toBe(text);
  });

  test.each<[string, (fields: object) => Promise<unknown>]>([
    ['Responses', (fields) => live.openai.responses.create({ ...endlessResponse, ...fields })],
    ['Messages', (fields) => live.anthropic.messages.create({ ...endless, ...fields })],
    ['Ollama', (fields) => live.ollama.chat({ ...endlessOllama, stream: false, ...fields })],
  ])('stops a whole reply of %s, which is then as long as it got', async (_, ask) => {
    const native = nativeClient(live.server.base);
    const genkey = 'KCPP77';
    const reply = ask({ genkey });
    reply.catch(() => undefined);
    await becomesBusy(live.server.base);
    while ((await native.check(genkey)) === '');
    await native.post('/api/extra/abort', { genkey });
    const text = JSON.stringify(await reply);
    expect(text).toContain(
      JSON.stringify(await native.check(genkey))
        .slice(1, -1)
        .trim(),
    );
    await freed();
  });
});

test('keep_text_gen_on_disconnect: a chat continues after a disconnect, and can be polled and aborted by key', async () => {
  const look = async (genkey: string) => {
    const answer = await nativeClient(live.server.base).post('/api/extra/generate/check', { genkey });
    return (answer.json() as { results: [{ text: string; finish_reason?: string | null }] }).results[0];
  };
  const keepGenerating = { kcpp_extra_args: { keep_text_gen_on_disconnect: true } };
  const leave = async (genkey: string, own: object) => {
    const stream = await live.openai.chat.completions.create({
      ...endless,
      ...keepGenerating,
      ...own,
      genkey,
      stream: true,
    } as never);
    for await (const _ of stream as unknown as AsyncIterable<unknown>) break;
  };

  await leave('kept', { max_tokens: 40 });
  await becomesIdle(live.server.base);
  const whole = await look('kept');
  expect(whole.finish_reason).toBe('length');
  expect(whole.text).not.toBe('');

  await leave('stopped', {});
  expect(await look('stopped')).toMatchObject({ finish_reason: null });
  await nativeClient(live.server.base).post('/api/extra/abort', { genkey: 'stopped' });
  await becomesIdle(live.server.base);
  expect(await look('stopped')).toMatchObject({ finish_reason: 'abort' });
});
