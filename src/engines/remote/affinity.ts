import { createHash } from 'node:crypto';
import { type Conversation, wordsOf } from '../../chat/messages.ts';
import type { GenerationRequest } from '../../core/request.ts';

const longestBeginning = 4096;
const shortestBeginning = 256;

/**
 * What stays the same while a conversation grows: its beginning, up to the first words of its user. All its turns have the same
 * affinity, and so the same engine, which has most of them in memory already.
 */
export function chatAffinity({ messages, tools }: Conversation): string {
  const first = messages.findIndex(({ role }) => role === 'user');
  const beginning = messages.slice(0, first === -1 ? 1 : first + 1);
  const names = tools.map(({ name }) => name).join();
  return digest([
    names,
    ...beginning.map(({ role, content }) => `${role}\n${wordsOf(content).slice(0, longestBeginning)}`),
  ]);
}

/**
 * Of a text that grows at its end as much of the beginning as there is a power of two, up to a limit: so it changes a few times at
 * most while the text grows, and texts that begin alike part where they become long.
 */
export function textAffinity({
  memory,
  prompt,
  promptTokens,
}: Pick<GenerationRequest, 'memory' | 'prompt' | 'promptTokens'>): string {
  if (promptTokens) return digest([promptTokens.slice(0, rounded(promptTokens.length)).join()]);
  const length = rounded(memory.length + prompt.length);
  return digest([(memory.slice(0, length) + prompt.slice(0, length)).slice(0, length)]);
}

function rounded(length: number): number {
  if (length < shortestBeginning) return length;
  return Math.min(longestBeginning, 2 ** Math.floor(Math.log2(length)));
}

function digest(texts: readonly string[]): string {
  const hash = createHash('sha1');
  for (const text of texts) hash.update(`${text}\u0000`);
  return hash.digest('base64url');
}
