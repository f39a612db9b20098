import { Ollama } from 'ollama';
import { expect, onTestFinished, test, vi } from 'vitest';
import { AppError } from '../../core/errors.ts';
import type { GenerationEvent } from '../../core/events.ts';
import type { DialectContext } from '../dialect.ts';
import { bindAll } from '../testing/bind.ts';
import { finishEvent, readyState, startEvent } from '../testing/doubles.ts';
import { begun, type Scripts, sdkWorld } from '../testing/sdk-world.ts';
import { ollamaEndpoints } from './routes.ts';
import { model, ollamaContext } from './testing/context.ts';

const template = `{# <think> #}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}{% if tools %}<tool_call>{% endif %}<|assistant|>`;
const timings = { initMs: 1, promptMs: 2, generationMs: 3, processedTokens: 7 };
const said = (...pieces: readonly string[]) => [...begun(...pieces), finishEvent({ timings })];

async function world(scripts: Scripts) {
  const kept: number[] = [];
  const endpoints = ({ text, chat }: DialectContext) => {
    const { parts } = ollamaContext([], { text, chat });
    return bindAll(ollamaEndpoints(parts, parts), parts);
  };
  const text = { state: () => readyState(model), keepFor: (milliseconds: number) => void kept.push(milliseconds) };
  const { base, asked, errors } = await sdkWorld(scripts, endpoints, { template, text });
  onTestFinished(() => expect(errors).toEqual([]));
  return { client: new Ollama({ host: base }), asked, kept };
}

const messages = [{ role: 'user', content: 'Hi' }];

test('SDK: chat, whole and streamed', async () => {
  const { client, asked } = await world(said('Hel', 'lo'));
  const whole = await client.chat({ model: 'm', messages, options: { temperature: 0.1, stop: ['X'] } });
  expect(whole).toMatchObject({
    model: 'm',
    message: { role: 'assistant', content: 'Hello' },
    done: true,
    done_reason: 'stop',
    prompt_eval_count: 7,
    eval_count: 5,
    eval_duration: 3_000_000,
  });
  const warn = vi.spyOn(console, 'warn');
  const pieces: string[] = [];
  for await (const part of await client.chat({ model: 'm', messages, stream: true })) pieces.push(part.message.content);
  expect(pieces).toEqual(['Hel', 'lo', '']);
  expect(warn).not.toHaveBeenCalled();
  expect(asked[0]?.request).toMatchObject({ prompt: '<|user|>Hi\n<|assistant|>', stop: ['X'] });
  expect(asked[0]?.request.sampling.temperature).toBe(0.1);
});

test('SDK: completion, whole and streamed, with context', async () => {
  const { client, asked, kept } = await world(said('Hel', 'lo'));
  const whole = await client.generate({ model: 'm', prompt: 'Hi', system: 'Be brief.', keep_alive: '5m' });
  expect(whole).toMatchObject({ response: 'Hello', done: true, done_reason: 'stop' });
  expect(kept).toEqual([300_000]);
  let streamed = '';
  for await (const part of await client.generate({
    model: 'm',
    prompt: 'More',
    context: whole.context,
    stream: true,
  })) {
    streamed += part.response;
  }
  expect(streamed).toBe('Hello');
  expect(asked[1]?.request).toMatchObject({
    memory: '<|system|>Be brief.\n<|user|>Hi\n<|assistant|>Hello',
    prompt: '<|user|>More\n<|assistant|>',
  });
});

test('SDK: thinking is separate from the answer', async () => {
  const { client } = await world(said('<think>', 'hm', '</think>', 'Yes.'));
  const { message } = await client.chat({ model: 'm', messages, think: true });
  expect(message).toEqual({ role: 'assistant', content: 'Yes.', thinking: 'hm' });
  const seen = { thinking: '', response: '' };
  for await (const part of await client.generate({ model: 'm', prompt: 'Hi', think: 'high', stream: true })) {
    seen.thinking += part.thinking ?? '';
    seen.response += part.response;
  }
  expect(seen).toEqual({ thinking: 'hm', response: 'Yes.' });
});

const weather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
  },
};

test.each([true, false])('SDK: a tool call (streamed: %j) and its result', async (stream) => {
  const written = '<tool_call>{"name": "get_weather", "arguments": {"city": "Paris"}}</tool_call>';
  const { client, asked } = await world(said(written.slice(0, 30), written.slice(30)));
  const request = { model: 'm', messages, tools: [weather] };
  const calls: unknown[] = [];
  if (stream) {
    for await (const { message } of await client.chat({ ...request, stream: true })) {
      calls.push(...(message.tool_calls ?? []));
    }
  } else {
    const { message, done_reason } = await client.chat(request);
    calls.push(...(message.tool_calls ?? []));
    expect(done_reason).toBe('stop');
  }
  expect(calls).toEqual([{ id: 'call_1', function: { index: 0, name: 'get_weather', arguments: { city: 'Paris' } } }]);
  await client.chat({
    model: 'm',
    messages: [
      ...messages,
      { role: 'assistant', content: '', tool_calls: calls as never },
      { role: 'tool', content: '21 degrees', tool_name: 'get_weather' },
    ],
  });
  expect(asked.at(-1)?.request.prompt).toContain('<|tool|>21 degrees');
});

test('SDK: an output schema', async () => {
  const { client, asked } = await world(said('{"city":"Paris"}'));
  const { message } = await client.chat({ model: 'm', messages, format: weather.function.parameters });
  expect(JSON.parse(message.content)).toEqual({ city: 'Paris' });
  expect(asked[0]?.request.grammar?.gbnf).toContain('city');
});

test('SDK: lists of models, show and version', async () => {
  const { client } = await world(said('x'));
  expect((await client.list()).models.map(({ name }) => name)).toEqual(['koboldcpp/mini:latest']);
  expect((await client.ps()).models).toHaveLength(1);
  expect(await client.show({ model: 'koboldcpp/mini' })).toMatchObject({
    capabilities: ['completion', 'tools', 'thinking'],
  });
  expect(await client.version()).toEqual({ version: '0.31.0' });
});

test('SDK: loads and unloads a model without a prompt', async () => {
  const { client, kept, asked } = await world(said('x'));
  expect(await client.generate({ model: 'm', prompt: '' })).toMatchObject({ done_reason: 'load' });
  expect(await client.chat({ model: 'm', keep_alive: 0 })).toMatchObject({ done_reason: 'unload' });
  expect(kept).toEqual([0]);
  expect(asked).toEqual([]);
});

test('SDK: pull succeeds, other management is refused', async () => {
  const { client } = await world(said('x'));
  expect(await client.pull({ model: 'llama3' })).toEqual({ status: 'success' });
  const states: string[] = [];
  for await (const { status } of await client.pull({ model: 'llama3', stream: true })) states.push(status);
  expect(states).toEqual(['pulling manifest', expect.stringContaining('nothing to download'), 'success']);
  await expect(client.delete({ model: 'llama3' })).rejects.toThrow("model 'llama3' not found");
  await expect(client.create({ model: 'new', from: 'old' })).rejects.toThrow('Create is not possible');
  await expect(client.copy({ source: 'mini', destination: 'b' })).rejects.toThrow('Copy is not possible');
});

test('SDK: errors are sentences', async () => {
  const { client } = await world(said('x'));
  await expect(client.embed({ model: 'm', input: 'x' })).rejects.toThrow('No embeddings model is loaded');
  await expect(client.generate({ model: 'm', prompt: 'x', images: ['aGk='] })).rejects.toThrow(
    'Image input (images[0])',
  );
  await expect(client.generate({ model: 'm', prompt: 'x', suffix: 'y' })).rejects.toThrow('does not support insert');
});

test('SDK: busy server, and an engine lost during the stream', async () => {
  const busy = await world(() => {
    throw new AppError('busy', { retryAfterSeconds: 1 });
  });
  await expect(busy.client.generate({ model: 'm', prompt: 'x' })).rejects.toThrow('Server is busy');
  const error = new AppError('engine-lost', { capability: 'text' });
  const lost = await world([startEvent(), { type: 'text-delta', text: 'Hel' }, { type: 'error', error }]);
  const pieces: string[] = [];
  await expect(
    (async () => {
      for await (const part of await lost.client.chat({ model: 'm', messages, stream: true })) {
        pieces.push(part.message.content);
      }
    })(),
  ).rejects.toThrow('The text engine stopped');
  expect(pieces).toEqual(['Hel']);
});

test('SDK: abort ends the generation', async () => {
  let ended: () => void = () => undefined;
  const over = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const endless = async function* (): AsyncGenerator<GenerationEvent> {
    try {
      yield startEvent();
      for (;;) {
        yield { type: 'text-delta', text: 'x' };
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      ended();
    }
  };
  // No chat between: it would read on for its own reservation, and this script cannot be told to stop.
  const { client } = await world(endless);
  const stream = await client.generate({ model: 'm', prompt: 'x', raw: true, stream: true });
  await expect(
    (async () => {
      for await (const part of stream) if (part.response === 'x') client.abort();
    })(),
  ).rejects.toThrow(/abort/i);
  await over;
});
