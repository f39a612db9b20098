import { beforeAll, describe, expect, test } from 'vitest';
import { neverEnding } from '../live/client.ts';
import { untrainedServers } from '../live/server.ts';
import { askChat, askMessage, askOllama, askResponse, bothWays, messageText } from './ask.ts';
import { type LiveClients, liveClients } from './live-clients.ts';

const system = 'You are a friendly assistant who likes dogs.';
const turns = [
  { role: 'user' as const, content: 'What is the capital of France?' },
  { role: 'assistant' as const, content: 'The capital of France is Paris.' },
  { role: 'user' as const, content: 'Tell me a story about a brave little dog.' },
];
const conversation = [{ role: 'system' as const, content: system }, ...turns];
const length = 60;

interface Told {
  readonly text: string;
  readonly promptTokens: number | undefined;
  readonly replyTokens: number | undefined;
}

/** One conversation in the words of every dialect. */
const dialects: Readonly<Record<string, (clients: LiveClients, stream: boolean) => Promise<Told>>> = {
  'chat completions': async ({ openai }, stream) => {
    const { choices, usage } = await askChat(openai, stream, {
      messages: conversation,
      max_tokens: length,
      ...neverEnding,
    });
    const text = choices[0]?.message.content ?? '';
    return { text, promptTokens: usage?.prompt_tokens, replyTokens: usage?.completion_tokens };
  },
  Responses: async ({ openai }, stream) => {
    const request = { instructions: system, input: turns, max_output_tokens: length, ...neverEnding };
    const { output_text: text, usage } = await askResponse(openai, stream, request);
    return { text, promptTokens: usage?.input_tokens, replyTokens: usage?.output_tokens };
  },
  Messages: async ({ anthropic }, stream) => {
    const message = await askMessage(anthropic, stream, {
      system,
      messages: turns,
      max_tokens: length,
      ...neverEnding,
    });
    const { input_tokens: fresh, cache_read_input_tokens: cached, output_tokens: replyTokens } = message.usage;
    return { text: messageText(message), promptTokens: fresh + (cached ?? 0), replyTokens };
  },
  Ollama: async ({ ollama }, stream) => {
    const reply = await askOllama(ollama, stream, {
      messages: conversation,
      options: { num_predict: length, ...neverEnding },
    });
    return { text: reply.message.content, promptTokens: reply.prompt_eval_count, replyTokens: reply.eval_count };
  },
};

describe.each([
  { kind: 'the detected chat adapter', flags: [] },
  { kind: 'the chat template of the model', flags: ['--jinja'] },
])('same conversation through $kind', ({ flags }) => {
  const clients = liveClients(flags, {}, untrainedServers());
  let expected: Told;
  beforeAll(async () => {
    // The prompt is in the cache of all that are compared.
    await dialects['chat completions']?.(clients, false);
    expected = (await dialects['chat completions']?.(clients, false)) as Told;
  });

  test.each(
    Object.entries(dialects).flatMap(([dialect, ask]) =>
      bothWays.map(({ way, stream }) => ({ dialect, way, ask, stream })),
    ),
  )('has the same text and the same counts in $dialect, $way', async ({ ask, stream }) => {
    expect(expected.replyTokens).toBe(length);
    expect(await ask(clients, stream)).toEqual(expected);
  });
});
