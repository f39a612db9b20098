import type { Turn } from '../model/conversation.ts';

/** About so many characters are one token in most languages and models; a count of the server corrects it. */
const charactersPerToken = 3.6;
const perTurn = 5;
const perPicture = 600;

export function estimateOf({
  text,
  attachments = [],
  calls = [],
}: Pick<Turn, 'text' | 'attachments' | 'calls'>): number {
  const written = [
    text,
    ...attachments.map((one) => one.text ?? ''),
    ...calls.map((call) => call.name + call.arguments),
  ];
  const characters = written.reduce((sum, one) => sum + one.length, 0);
  const media = attachments.filter(({ kind }) => kind !== 'text').length;
  return perTurn + Math.ceil(characters / charactersPerToken) + media * perPicture;
}

/** What a prompt may have, so that a reply of this length still has room; a long reply takes at most half. */
export function roomFor(context: number, replyLength: number): number {
  return context - Math.min(replyLength, Math.floor(context / 2));
}

/**
 * How many of the first turns have to be left out so that the rest has room. The last question and what belongs to it always
 * stays, and what is left begins with somebody's message: a reply without its question confuses models.
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

/** Leaves out what has no room, by what the server counts; where it cannot count, by the estimate. */
export async function fittedPath(
  path: readonly Turn[],
  { system, room, count }: { system: string; room: number; count: (path: readonly Turn[]) => Promise<number> },
): Promise<readonly Turn[]> {
  const sizes = path.map(estimateOf);
  const fixed = estimateOf({ text: system });
  const estimate = (from: number): number => fixed + sizes.slice(from).reduce((sum, size) => sum + size, 0);
  if (room <= 0 || estimate(0) < room / 2) return path;
  // A long chat is not sent whole only to be counted.
  let kept = droppedTurns(path, sizes, room * 3);
  for (let tries = 0; tries < 6; tries += 1) {
    const counted = await count(path.slice(kept)).catch(() => estimate(kept));
    if (counted <= room) break;
    const scale = counted / Math.max(1, estimate(kept));
    const rest = path.slice(kept);
    const more = droppedTurns(
      rest,
      rest.map((turn) => estimateOf(turn) * scale),
      room - fixed * scale,
    );
    const next =
      kept +
      Math.max(
        more,
        droppedTurns(
          rest,
          rest.map(() => 1),
          rest.length - 1,
        ),
      );
    if (next === kept) break;
    kept = next;
  }
  return path.slice(kept);
}
