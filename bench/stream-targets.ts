import { occurrences } from './http-client.ts';

/** A streaming endpoint, and how its events are separated. */
export interface StreamTarget {
  readonly name: string;
  readonly path: string;
  body(tokens: number): Readonly<Record<string, unknown>>;
  countEvents(text: string): number;
}

const frames = (text: string): number => occurrences(text, '\n\n');
const lines = (text: string): number => occurrences(text, '\n');
const model = 'bench';
const prompt = 'Once';
const messages = [{ role: 'user', content: 'Hello' }];

export const nativeStream: StreamTarget = {
  name: 'native stream',
  path: '/api/extra/generate/stream',
  body: (tokens) => ({ prompt, max_length: tokens }),
  countEvents: frames,
};

/** Every dialect that streams has its line here. */
export const streamTargets: readonly StreamTarget[] = [
  nativeStream,
  {
    name: 'OpenAI chat',
    path: '/v1/chat/completions',
    body: (tokens) => ({ model, messages, max_tokens: tokens, stream: true }),
    countEvents: frames,
  },
  {
    name: 'OpenAI completions',
    path: '/v1/completions',
    body: (tokens) => ({ model, prompt, max_tokens: tokens, stream: true }),
    countEvents: frames,
  },
  {
    name: 'Responses',
    path: '/v1/responses',
    body: (tokens) => ({ model, input: 'Hello', max_output_tokens: tokens, stream: true, store: false }),
    countEvents: frames,
  },
  {
    name: 'Messages',
    path: '/v1/messages',
    body: (tokens) => ({ model, messages, max_tokens: tokens, stream: true }),
    countEvents: frames,
  },
  {
    name: 'Ollama chat',
    path: '/api/chat',
    body: (tokens) => ({ model, messages, options: { num_predict: tokens } }),
    countEvents: lines,
  },
  {
    name: 'Ollama generate',
    path: '/api/generate',
    body: (tokens) => ({ model, prompt, options: { num_predict: tokens } }),
    countEvents: lines,
  },
  {
    name: 'llama.cpp completion',
    path: '/completion',
    body: (tokens) => ({ prompt, n_predict: tokens, stream: true }),
    countEvents: frames,
  },
];
