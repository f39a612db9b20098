import type Anthropic from '@anthropic-ai/sdk';
import type { Ollama } from 'ollama';
import type OpenAI from 'openai';
import { beforeAll } from 'vitest';
import { type LiveServer, liveServers, type StartOptions, type StartServer } from '../live/server.ts';
import { anthropicClient, ollamaClient, openaiClient } from './clients.ts';

/** A server and the official clients in front of it. */
export interface LiveClients {
  readonly server: LiveServer;
  readonly openai: OpenAI;
  readonly anthropic: Anthropic;
  readonly ollama: Ollama;
}

/** Made for the tests of a file or a group: there when the first of them begins, and gone after the last. */
export function liveClients(
  flags: readonly string[] = [],
  options: StartOptions = {},
  startServer: StartServer = liveServers(),
): LiveClients {
  const live: { -readonly [Name in keyof LiveClients]?: LiveClients[Name] } = {};
  beforeAll(async () => {
    live.server = await startServer(flags, options);
    const { base } = live.server;
    live.openai = openaiClient(base);
    live.anthropic = anthropicClient(base);
    live.ollama = ollamaClient(base);
  });
  return live as LiveClients;
}
