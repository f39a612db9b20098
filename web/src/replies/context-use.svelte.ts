import { read } from '../api/call.ts';
import type { Turn } from '../conversations/conversation.ts';
import { server } from '../models/server.svelte.ts';
import { settings } from '../settings/settings.svelte.ts';
import { droppedTurns, estimateOf, roomFor } from './context-fit.ts';
import { wireMessages } from './messages.ts';

/** Estimated tokens of the next request, corrected by the last count of the server. */
export interface ContextUse {
  readonly used: number;
  readonly dropped: number;
}

let scale = $state(1);
/** Number of last turns that are counted to correct the estimate. */
const sample = 40;

/** `summarized`: number of first turns that a summary stands for. */
export function contextUse(system: string, path: readonly Turn[], typed: string, summarized = 0): ContextUse {
  const sent = path.slice(summarized);
  const sizes = sent.map((turn) => estimateOf(turn) * scale);
  const rest = estimateOf({ text: system }) * scale + (typed === '' ? 0 : estimateOf({ text: typed }) * scale);
  const all = sizes.reduce((sum, size) => sum + size, rest);
  const room = roomFor(server.context, settings.replyLength) - rest;
  const dropped = server.context > 0 ? droppedTurns(sent, sizes, room) : 0;
  const used = sizes.slice(dropped).reduce((sum, size) => sum + size, rest);
  return { used: Math.round(dropped > 0 ? used : all), dropped: dropped > 0 ? summarized + dropped : 0 };
}

/** Counts tokens on the server to correct the estimate. */
export async function correctEstimate(system: string, path: readonly Turn[], signal: AbortSignal): Promise<void> {
  const words = path.slice(-sample).filter(({ attachments = [] }) => attachments.every(({ kind }) => kind === 'text'));
  if (words.length === 0) return;
  const messages = await wireMessages(system, words, async () => '');
  const { input_tokens: counted } = await read<{ input_tokens: number }>('v1/chat/completions/input_tokens', {
    body: { messages },
    signal,
    background: true,
  });
  const estimate = words.reduce((sum, turn) => sum + estimateOf(turn), estimateOf({ text: system }));
  if (counted > 0) scale = counted / estimate;
}
