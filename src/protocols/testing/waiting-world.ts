import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { turns } from '../../chat/adapters/adapter.ts';
import { noTemplate } from '../../chat/prompt.ts';
import { chatService } from '../../chat/service.ts';
import { fold } from '../../core/fold.ts';
import { plainRequest } from '../../core/testing/plain-request.ts';
import { fixedTextSource } from '../../core/text-service.ts';
import { fakeEngine } from '../../engines/testing/fake-engine.ts';
import type { Endpoint } from '../../http/call.ts';
import { handTimer, serve } from '../../http/testing/world.ts';
import { Queue } from '../../queue/queue.ts';
import { RequestQueue } from '../../queue/request-queue.ts';
import { textService } from '../../queue/text.ts';
import { completionEndpoints } from '../llamacpp/completion.ts';
import { messagesEndpoints } from '../messages/routes.ts';
import { generateEndpoints } from '../native/generate.ts';
import { ollamaEndpoints } from '../ollama/routes.ts';
import { ollamaContext } from '../ollama/testing/context.ts';
import { openaiEndpoints } from '../openai/routes.ts';
import { responseState } from '../responses/background.ts';
import { responsesEndpoints } from '../responses/routes.ts';
import { bindAll } from './bind.ts';
import { dialectParts } from './doubles.ts';

const { tags } = turns(['<system>', '</system>'], ['<user>', '</user>'], ['<assistant>', '</assistant>']);
export const later = () => new Promise((resolve) => setImmediate(resolve));

/** All streaming dialects on a real socket and the real queue; the engine moves when the test says so. */
export async function world() {
  const time = handTimer();
  const steps: (() => void)[] = [];
  const engine = fakeEngine({
    script: () => ({ pieces: ['Hel', 'lo'], end: 'end-token' }),
    pace: (go) => steps.push(go),
  });
  const queue = new Queue({ capacity: 1, maxRequests: () => 10, now: () => 0 });
  const text = textService({
    source: fixedTextSource(engine),
    requestQueue: new RequestQueue(queue, () => 0),
    randomSeed: () => 1,
  });
  const chat = chatService({
    text,
    tags,
    tagsWithoutThinking: undefined,
    templateText: undefined,
    template: async () => undefined,
    templateUse: noTemplate,
    serverVariables: {},
    now: () => new Date(0),
    newCallId: () => 'call_1',
    warn: () => undefined,
  });
  const parts = dialectParts({ text, chat, startTimer: time.startTimer });
  const endpoints: Endpoint[] = [
    ...bindAll(generateEndpoints, { ...parts, replacePlaceholders: (texts) => texts }),
    ...bindAll(openaiEndpoints(parts), { ...parts, replacePlaceholders: (texts) => texts }),
    ...bindAll(responsesEndpoints(responseState(), parts), parts),
    ...bindAll(messagesEndpoints(parts), parts),
    ...bindAll(completionEndpoints, parts),
    ...bindAll(ollamaEndpoints(ollamaContext().parts, parts), { ...ollamaContext().parts, ...parts }),
  ];
  const { port } = await serve(endpoints, { startTimer: time.startTimer });

  const bytes: Promise<string>[] = [];
  /** Keeps what really came, beside what a client makes of it. */
  const watchedFetch = async (...[url, options]: Parameters<typeof fetch>): Promise<Response> => {
    const response = await fetch(url, options);
    bytes.push(response.clone().text());
    return response;
  };
  const until = async (reached: () => boolean) => {
    while (!reached()) await later();
  };
  return {
    time,
    engine,
    base: `http://127.0.0.1:${port}`,
    fetch: watchedFetch,
    received: async () => (await Promise.all(bytes)).join(''),
    /** Somebody else's generation. */
    occupy: () => fold(text.generate(plainRequest('Hi', 9), { genkey: '', client: 'other', signal: never })),
    waiting: (count: number) => until(() => queue.waiting === count),
    /** Lets seconds pass until the head of the stream is here: the first may be over before the request waits for anything. */
    async beginStream() {
      while (bytes.length === 0) {
        time.pass(1000);
        await later();
      }
      await until(() => time.waiting().includes(1000));
    },
    /** Runs the engine until nobody is left, or until so many wait. */
    async run(left?: number) {
      while (left === undefined ? queue.running > 0 : queue.waiting > left) {
        steps.shift()?.();
        await later();
      }
    },
  };
}
export type World = Awaited<ReturnType<typeof world>>;

const never = new AbortController().signal;
export const messages = [{ role: 'user' as const, content: 'Hi' }];
export const model = 'any';

export const openai = ({ base, fetch }: World) =>
  new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0, fetch });
const anthropic = ({ base, fetch }: World) => new Anthropic({ baseURL: base, apiKey: 'none', maxRetries: 0, fetch });
export const post = async ({ base, fetch }: World, path: string, body: object) => {
  const reply = await fetch(`${base}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return reply.text();
};
/** What a reader that knows nothing but server-sent events makes of it. */
const data = (bytes: string) => bytes.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
const joined = (bytes: string, field: string) =>
  data(bytes)
    .map((one) => JSON.parse(one)[field] ?? '')
    .join('');

/** Each streams a text by the client that its dialect has, and gives back what that has read. */
export const dialects: Record<string, (all: World) => Promise<string>> = {
  'a chat completion': async (all) => {
    const stream = openai(all).chat.completions.stream({ model, messages });
    return (await stream.finalChatCompletion()).choices[0]?.message.content ?? '';
  },
  'a completion': async (all) => {
    let words = '';
    const stream = await openai(all).completions.create({ model, prompt: 'Hi', stream: true });
    for await (const chunk of stream) words += chunk.choices[0]?.text ?? '';
    return words;
  },
  'a response': async (all) => (await openai(all).responses.stream({ model, input: 'Hi' }).finalResponse()).output_text,
  'a message': async (all) => {
    const stream = anthropic(all).messages.stream({ model, messages, max_tokens: 9 });
    return stream.finalText();
  },
  'a native text': async (all) =>
    joined(await post(all, '/api/extra/generate/stream', { prompt: 'Hi', max_length: 9 }), 'token'),
  'a text of llama.cpp': async (all) =>
    joined(await post(all, '/completion', { prompt: 'Hi', n_predict: 9, stream: true }), 'content'),
};
