import type { Candidates } from './candidates.ts';

const sampleSize = 1024;

/**
 * Loads the `count` highest logits of a vocabulary, unsorted; of equals at the border the lower ids. What is not a
 * number counts as impossible. A small sample tells a floor that surely more than `count` reach; one pass gathers those,
 * and only they are looked at closely.
 */
export function keepHighest(logits: Float32Array, count: number, into: Candidates): void {
  if (logits.length <= count) {
    into.loadAll(logits);
    return;
  }
  const floor = likelyFloor(logits, count, into);
  if (floor > -Infinity) gather(logits, floor, count, into);
  // Without a floor all count, also what is not a number, which no comparison would let through.
  if (floor === -Infinity || into.size < count) into.loadAll(logits);
  trimToHighest(into, count);
}

/** Drops all but the `count` highest, of equals at the border the higher ids. Sorts only where the order was lost. */
export function trimToHighest(candidates: Candidates, count: number): void {
  if (candidates.size <= count) return;
  if (candidates.order === 'none') candidates.sort();
  if (candidates.order === 'best') {
    candidates.size = count;
    return;
  }
  const { bits, border } = candidates;
  const lowest = border.search(bits, candidates.size, count);
  const { ties, equals } = border;
  candidates.dropBelow(lowest);
  if (equals === ties) return;
  let seen = 0;
  candidates.retain((_, logit) => {
    seen += Number(logit === lowest);
    return logit !== lowest || seen <= ties;
  });
}

/** A logit that more than `count` entries very probably reach: the sample's share of them with a wide margin. */
function likelyFloor(logits: Float32Array, count: number, { logits: sample, bits, border }: Candidates): number {
  const stride = Math.max(1, Math.floor(logits.length / sampleSize));
  let size = 0;
  for (let id = 0; id < logits.length; id += stride) {
    const logit = logits[id] as number;
    sample[size] = Number.isNaN(logit) ? -Infinity : logit;
    size += 1;
  }
  const expected = count / stride;
  const rank = Math.ceil(expected * 1.05 + 3 * Math.sqrt(expected) + 4);
  if (rank > size) return -Infinity;
  return border.search(bits, size, rank);
}

function gather(logits: Float32Array, floor: number, count: number, into: Candidates): void {
  const { ids } = into;
  // Where most fours hold nothing, passing over them is guessed right.
  const sparse = count * 64 < logits.length;
  let size = 0;
  const fours = logits.length - (logits.length % 4);
  for (let id = 0; id < fours; id += 4) {
    const a = (logits[id] as number) >= floor;
    const b = (logits[id + 1] as number) >= floor;
    const c = (logits[id + 2] as number) >= floor;
    const d = (logits[id + 3] as number) >= floor;
    if (sparse && !(a || b || c || d)) continue;
    // Each is written before it is known to belong: branches would often be guessed wrong.
    ids[size] = id;
    size += Number(a);
    ids[size] = id + 1;
    size += Number(b);
    ids[size] = id + 2;
    size += Number(c);
    ids[size] = id + 3;
    size += Number(d);
  }
  for (let id = fours; id < logits.length; id += 1) {
    ids[size] = id;
    size += Number((logits[id] as number) >= floor);
  }
  for (let index = 0; index < size; index += 1) into.logits[index] = logits[ids[index] as number] as number;
  into.loaded(size);
}
