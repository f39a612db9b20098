import { smallestChunk } from './chunk.ts';

export interface CutQuestion {
  /** What is computed already, and how long the text is. */
  readonly from: number;
  readonly end: number;
  /** How many tokens at the end the memory can take back by itself. */
  readonly spare: number;
  /** Whether a turn of a chat may begin here. */
  readonly startsTurn: (index: number) => boolean;
}

/**
 * Distances from the end of a prompt at which the memory is worth keeping. The first serves the same prompt again. Each
 * other one is four times as far as the one before it: a change that lies some tokens before the end then costs a small
 * multiple of them, and not the whole prompt. They leave chunks of 64 rows and more between them.
 */
const distances = Array.from({ length: 7 }, (_, power) => (power === 0 ? 1 : 4 ** (power - 1) * smallestChunk + 1));

/** Shorter texts are read again sooner than they are kept. */
const shortest = 32;

/** Where reading a prompt stops for a moment, so that the memory can be kept; in the order of the text. */
export function checkpointCuts({ from, end, spare, startsTurn }: CutQuestion): readonly number[] {
  const cuts: number[] = [];
  for (const distance of distances) {
    if (distance > 1 && distance <= spare) continue;
    const cut = distance === 1 ? end - 1 : turnBefore(end - distance, distance, startsTurn);
    const before = distance === 1 ? from : from + smallestChunk - 1;
    const known = cuts[0] ?? Number.POSITIVE_INFINITY;
    if (cut >= shortest && cut > before && cut < known) cuts.unshift(cut);
  }
  return cuts;
}

/** The last beginning of a turn up to here, if there is one that is not much further back. */
function turnBefore(index: number, within: number, startsTurn: CutQuestion['startsTurn']): number {
  for (let place = index; place > Math.max(0, index - within); place -= 1) if (startsTurn(place)) return place;
  return index;
}

/**
 * Which of these checkpoints (in the order of the text) is missed least. Without it, a change right before the next one goes
 * back to the one before: what counts is how much that is, measured by how far the change lies from the end. The newest
 * always stays.
 */
export function leastUseful(indices: readonly number[], end: number): number {
  let least = { place: 0, factor: Number.POSITIVE_INFINITY };
  for (let place = 0; place < indices.length - 1; place += 1) {
    const before = indices[place - 1] ?? 0;
    const after = indices[place + 1] as number;
    const factor = (end - before) / (end - after + 1);
    if (factor < least.factor) least = { place, factor };
  }
  return least.place;
}
