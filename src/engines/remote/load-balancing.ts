import { createHash } from 'node:crypto';
import { type Conversation, plainText } from '../../chat/messages.ts';
import type { GenerationRequest } from '../../core/request.ts';

/** A backend that can take the request, as far as load balancing is concerned. */
export interface Candidate {
  /** Stable, and the same in every server that uses this backend. */
  readonly id: string;
  readonly weight: number;
  readonly running: number;
}

/** Requests with the same key prefer the same backend. Computed only where there is a choice. */
export type Affinity = string | (() => string);

/** How far a backend may exceed its fair share of the load for the sake of its prefix cache. */
const slack = 1.25;

/**
 * Weighted rendezvous hashing with bounded loads. The affinity key gives a fixed order of candidates, without state or
 * communication; the first one below its load limit takes the request. Its prefix cache most likely has the prompt's beginning. When
 * a candidate is added or removed, only its own keys move. The limits add up to more than the total load, so that one is always free.
 */
export function choose<Some extends Candidate>(candidates: readonly Some[], affinity: Affinity): Some | undefined {
  const total = candidates.reduce((sum, { running }) => sum + running, 0);
  const weights = candidates.reduce((sum, { weight }) => sum + weight, 0);
  const hasRoom = ({ running, weight }: Some): boolean => running < shareOf(total + 1, weight / weights);
  const open = candidates.filter(hasRoom);
  if (open.length <= 1) return open[0] ?? candidates[0];
  const key = typeof affinity === 'string' ? affinity : affinity();
  // The hash becomes a number between 0 and 1, both excluded.
  const scores = open.map(({ id, weight }) => -weight / Math.log((hash32(`${id}\u0000${key}`) + 0.5) / 2 ** 32));
  return open[scores.indexOf(Math.max(...scores))];
}

/** Maximum load of a candidate, given the total load. */
export function shareOf(total: number, part: number): number {
  return Math.ceil(slack * total * part);
}

/** FNV-1a with a final mix: cheap for short texts, and uniform enough for load balancing. */
function hash32(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

const maxPrefixLength = 4096;
const minPrefixLength = 256;

/** Affinity key of a conversation: its beginning up to the first user message, which all its turns share. */
export function chatAffinity({ messages, tools }: Conversation): string {
  const first = messages.findIndex(({ role }) => role === 'user');
  const beginning = messages.slice(0, first === -1 ? 1 : first + 1);
  const names = tools.map(({ name }) => name).join();
  const texts = beginning.map(({ role, content }) => `${role}\n${plainText(content).slice(0, maxPrefixLength)}`);
  return digest([names, ...texts]);
}

/** Affinity key of a plain prompt: its beginning, cut to a power of two, so that it seldom changes as text is added. */
export function textAffinity(request: Pick<GenerationRequest, 'memory' | 'prompt' | 'promptTokens'>): string {
  const { memory, prompt, promptTokens } = request;
  if (promptTokens) return digest([promptTokens.slice(0, rounded(promptTokens.length)).join()]);
  const length = rounded(memory.length + prompt.length);
  return digest([(memory.slice(0, length) + prompt.slice(0, length)).slice(0, length)]);
}

function rounded(length: number): number {
  if (length < minPrefixLength) return length;
  return Math.min(maxPrefixLength, 2 ** Math.floor(Math.log2(length)));
}

function digest(texts: readonly string[]): string {
  const hash = createHash('sha1');
  for (const text of texts) hash.update(`${text}\u0000`);
  return hash.digest('base64url');
}
