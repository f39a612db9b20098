import type Anthropic from '@anthropic-ai/sdk';
import type { ChatRequest, ChatResponse, Ollama, ToolCall } from 'ollama';
import type OpenAI from 'openai';
import { expect } from 'vitest';

/** Every question can be asked in two ways, and the answer must be the same one. */
export const bothWays = [
  { way: 'whole', stream: false },
  { way: 'streamed', stream: true },
] as const;

/** A reply of free JSON may be longer than any limit; then it is the beginning of an object. */
export function expectJsonObject(text: string, isWhole: boolean): void {
  if (isWhole) expect(JSON.parse(text)).toEqual(expect.any(Object));
  else expect(text.trimStart()).toMatch(/^\{/);
}

const model = 'any';
const maxTokens = 150;

type ChatFields = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model' | 'stream'>;
type ResponseFields = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'model' | 'stream'>;
type MessageFields = Omit<Anthropic.MessageCreateParamsNonStreaming, 'model' | 'stream' | 'max_tokens'> & {
  max_tokens?: number;
};
type OllamaFields = Omit<ChatRequest, 'model' | 'stream'>;

/** Chat completions. */
export function askChat(client: OpenAI, stream: boolean, fields: ChatFields): Promise<OpenAI.ChatCompletion> {
  const request = { model, temperature: 0, max_tokens: maxTokens, ...fields };
  if (!stream) return client.chat.completions.create(request);
  const options = { stream_options: { include_usage: true } };
  return client.chat.completions.stream({ ...request, ...options }).finalChatCompletion();
}

export function askResponse(
  client: OpenAI,
  stream: boolean,
  fields: ResponseFields,
): Promise<OpenAI.Responses.Response> {
  const request = { model, temperature: 0, max_output_tokens: maxTokens, ...fields };
  return stream ? client.responses.stream(request).finalResponse() : client.responses.create(request);
}

export function askMessage(client: Anthropic, stream: boolean, fields: MessageFields): Promise<Anthropic.Message> {
  const request = { model, temperature: 0, max_tokens: maxTokens, ...fields };
  return stream ? client.messages.stream(request).finalMessage() : client.messages.create(request);
}

export function messageText({ content }: Anthropic.Message): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

export async function askOllama(client: Ollama, stream: boolean, fields: OllamaFields): Promise<ChatResponse> {
  const request = { model, ...fields, options: { temperature: 0, num_predict: maxTokens, ...fields.options } };
  if (!stream) return client.chat({ ...request, stream: false });
  const chunks: ChatResponse[] = [];
  for await (const part of await client.chat({ ...request, stream: true })) chunks.push(part);
  return joined(chunks);
}

/** The parts of a stream as the one reply that they make together. */
function joined(chunks: readonly ChatResponse[]): ChatResponse {
  const last = chunks.at(-1);
  if (!last?.done) throw new Error('the stream ended without its last part');
  const calls: ToolCall[] = chunks.flatMap(({ message }) => message.tool_calls ?? []);
  const content = chunks.map(({ message }) => message.content).join('');
  return { ...last, message: { ...last.message, content, ...(calls.length > 0 ? { tool_calls: calls } : {}) } };
}
