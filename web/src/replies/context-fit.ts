import type { Turn } from '../conversations/conversation.ts';

/** Average for most languages and models; corrected by counts of the server. */
const charactersPerToken = 3.6;
const perTurn = 5;
const perPicture = 600;

export function estimateOf({
  text,
  attachments = [],
  calls = [],
  sources = [],
}: Pick<Turn, 'text' | 'attachments' | 'calls' | 'sources'>): number {
  const written = [
    text,
    ...attachments.map((one) => (one.send === 'passages' ? '' : (one.text ?? ''))),
    ...sources.map((one) => one.title + one.text),
    ...calls.map((call) => call.name + call.arguments),
  ];
  const characters = written.reduce((sum, one) => sum + one.length, 0);
  const media = attachments.filter(({ kind }) => kind !== 'text').length;
  return perTurn + Math.ceil(characters / charactersPerToken) + media * perPicture;
}

/** Tokens for the prompt. The reply reserves its length, but at most half of the context. */
export function roomFor(context: number, replyLength: number): number {
  return context - Math.min(replyLength, Math.floor(context / 2));
}

/**
 * Number of turns to drop from the start so that the rest fits. The last question and what follows it is always kept, and the
 * rest starts with a message of the person: a reply without its question confuses models.
 */
export function droppedTurns(path: readonly Turn[], sizes: readonly number[], room: number): number {
  const last = path.findLastIndex(({ role }) => role === 'user');
  let total = sizes.reduce((sum, size) => sum + size, 0);
  let first = 0;
  while (total > room && first < last) {
    do {
      total -= sizes[first] ?? 0;
      first += 1;
    } while (first < last && path[first]?.role !== 'user');
  }
  return first;
}

/** Drops turns that do not fit, counted by the server, or by the estimate if it cannot count. */
export async function fittedPath(
  path: readonly Turn[],
  { system, room, count }: { system: string; room: number; count: (path: readonly Turn[]) => Promise<number> },
): Promise<readonly Turn[]> {
  const sizes = path.map(estimateOf);
  const fixed = estimateOf({ text: system });
  const estimate = (from: number): number => fixed + sizes.slice(from).reduce((sum, size) => sum + size, 0);
  if (room <= 0 || estimate(0) < room / 2) return path;
  // A long chat is not sent as a whole just to be counted.
  let first = droppedTurns(path, sizes, room * 3);
  for (let tries = 0; tries < 6; tries += 1) {
    const counted = await count(path.slice(first)).catch(() => estimate(first));
    if (counted <= room) break;
    const scale = counted / Math.max(1, estimate(first));
    const rest = path.slice(first);
    const scaled = rest.map((turn) => estimateOf(turn) * scale);
    const atLeastOne = droppedTurns(rest, Array(rest.length).fill(1), rest.length - 1);
    const next = first + Math.max(atLeastOne, droppedTurns(rest, scaled, room - fixed * scale));
    if (next === first) break;
    first = next;
  }
  return path.slice(first);
}
