import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';

/** The official clients. None of them tries again: a test wants to see the first answer. */
export function openaiClient(base: string): OpenAI {
  return new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
}

export function anthropicClient(base: string, apiKey = 'none'): Anthropic {
  return new Anthropic({ baseURL: base, apiKey, maxRetries: 0 });
}

export function ollamaClient(base: string): Ollama {
  return new Ollama({ host: base });
}
