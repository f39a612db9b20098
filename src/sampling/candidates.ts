import { BorderSearch, RadixSort } from './float-sort.ts';
import { onePerSize, rowScanFor } from './row-scan.ts';

/**
 * The tokens that may come next, as parallel arrays that are reused for every token. Samplers change them in place; only the first
 * `size` entries count. Sorting is the most expensive step, so the order is tracked, and made only if a sampler needs it.
 */
export class Candidates {
  readonly ids: Int32Array;
  readonly logits: Float32Array;
  /** Valid only right after `softmax`. */
  readonly probabilities: Float32Array;
  /** The memory of `logits` as integers. */
  readonly bits: Int32Array;
  readonly border: BorderSearch;
  readonly #sorting: RadixSort;
  /** Exponentials of the logits, the expensive part of a softmax. */
  readonly #weights: Float64Array;
  /** How many of the first weights are valid. */
  #weighed = 0;
  size = 0;
  /** By token id (as loaded), best first with lower ids before equals, or neither. */
  order: 'ids' | 'best' | 'none' = 'ids';

  /** Untouched memory costs nothing, so the capacity can be the whole vocabulary. */
  constructor(readonly capacity: number) {
    this.ids = new Int32Array(capacity);
    this.logits = new Float32Array(capacity);
    this.probabilities = new Float32Array(capacity);
    this.bits = new Int32Array(this.logits.buffer);
    const { border, sorting } = workingMemory(capacity);
    this.border = border;
    this.#sorting = sorting;
    this.#weights = new Float64Array(capacity);
  }

  /** Loads the whole vocabulary; NaN counts as impossible. */
  loadAll(logits: Float32Array): void {
    for (let id = 0; id < logits.length; id += 1) {
      const logit = logits[id] as number;
      this.ids[id] = id;
      this.logits[id] = Number.isNaN(logit) ? -Infinity : logit;
    }
    this.loaded(logits.length);
  }

  /** Loads those that are not below the floor. */
  loadReaching(floor: number, logits: Float32Array): void {
    const scan = rowScanFor(logits.length);
    scan.load(logits);
    const { ids, logits: reached } = scan.reaching(floor);
    this.ids.set(ids);
    this.logits.set(reached);
    this.loaded(ids.length);
  }

  /** Call after ids and logits were written, in the order of the ids. */
  loaded(size: number): void {
    this.size = size;
    this.order = 'ids';
    this.#weighed = 0;
  }

  /** A single certain token. */
  loadOne(id: number, logit: number): void {
    this.ids[0] = id;
    this.logits[0] = logit;
    this.probabilities[0] = 1;
    this.size = 1;
    this.order = 'best';
    this.#weighed = 0;
  }

  /** Call after a change of logits that keeps their order. */
  changed(): void {
    this.#weighed = 0;
  }

  /** Call after a change of logits that can change their order. */
  reordered(): void {
    this.#weighed = 0;
    if (this.order === 'best') this.order = 'none';
  }

  sort(): void {
    if (this.order === 'best') return;
    this.#sorting.sort(this.logits, this.bits, this.ids, this.size);
    if (this.order === 'none') this.#orderTies();
    this.order = 'best';
    this.#weighed = 0;
  }

  highest(): number {
    if (this.order === 'best' && this.size > 0) return this.logits[0] as number;
    let highest = -Infinity;
    for (let index = 0; index < this.size; index += 1) {
      const logit = this.logits[index] as number;
      if (logit > highest) highest = logit;
    }
    return highest;
  }

  /** Probabilities from the logits as they are now. */
  softmax(): void {
    const { probabilities, size } = this;
    if (this.#weighed < size) this.#weigh();
    const weights = this.#weights;
    let sum = 0;
    for (let index = 0; index < size; index += 1) sum += weights[index] as number;
    const scale = 1 / sum;
    for (let index = 0; index < size; index += 1) {
      probabilities[index] = Math.fround(weights[index] as number) * scale;
    }
  }

  /** Subtracts the highest logit first, so that nothing overflows. */
  #weigh(): void {
    const { logits, size } = this;
    const weights = this.#weights;
    const highest = this.highest();
    const finite = Number.isFinite(highest);
    for (let index = 0; index < size; index += 1) {
      const logit = logits[index] as number;
      // With an infinite highest logit, all that share it are equally likely.
      weights[index] = finite ? Math.exp(logit - highest) : Number(logit === highest);
    }
    this.#weighed = size;
  }

  /** The entropy of the probabilities in nats; needs `softmax` first. */
  entropy(): number {
    let entropy = 0;
    for (let index = 0; index < this.size; index += 1) {
      const probability = this.probabilities[index] as number;
      if (probability > 0) entropy -= probability * Math.log(probability);
    }
    return entropy;
  }

  /** Drops candidates below `threshold`; a threshold above the best keeps the best. */
  keepAtLeast(threshold: number): void {
    this.dropBelow(Math.min(threshold, this.highest()));
  }

  /** May leave nothing. */
  dropBelow(threshold: number): void {
    const { ids, logits, size } = this;
    let kept = 0;
    for (let index = 0; index < size; index += 1) {
      const logit = logits[index] as number;
      // Written unconditionally: a branch would often be mispredicted.
      ids[kept] = ids[index] as number;
      logits[kept] = logit;
      kept += Number(logit >= threshold);
    }
    // Sorted entries stay in place.
    if (this.order !== 'best') this.#weighed = 0;
    this.size = kept;
  }

  /** Drops all but the best, of equals the one with the lowest id. */
  keepBest(): void {
    let best = 0;
    for (let index = 1; this.order !== 'best' && index < this.size; index += 1) {
      const logit = this.logits[index] as number;
      const bestLogit = this.logits[best] as number;
      const lowerId = (this.ids[index] as number) < (this.ids[best] as number);
      if (logit > bestLogit || (logit === bestLogit && lowerId)) best = index;
    }
    this.loadOne(this.ids[best] as number, this.logits[best] as number);
  }

  /** Drops entries that fail the test, keeping the order; may leave nothing. */
  retain(test: (id: number, logit: number) => boolean): void {
    const { ids, logits } = this;
    let kept = 0;
    for (let index = 0; index < this.size; index += 1) {
      const id = ids[index] as number;
      const logit = logits[index] as number;
      if (!test(id, logit)) continue;
      ids[kept] = id;
      logits[kept] = logit;
      kept += 1;
    }
    this.#weighed = 0;
    this.size = kept;
  }

  /** Keeps the entries from `start` up to but not including `end`. */
  keepRange(start: number, end: number): void {
    if (start > 0) {
      this.#weighed = 0;
      this.ids.copyWithin(0, start, end);
      this.logits.copyWithin(0, start, end);
    }
    this.size = end - start;
  }

  /** Sorts equal logits by id. */
  #orderTies(): void {
    const { ids, logits } = this;
    for (let index = 1; index < this.size; index += 1) {
      const id = ids[index] as number;
      const logit = logits[index];
      let target = index;
      while (target > 0 && logits[target - 1] === logit && (ids[target - 1] as number) > id) {
        ids[target] = ids[target - 1] as number;
        target -= 1;
      }
      ids[target] = id;
    }
  }
}

/** Shared by all requests: allocating it for each would take time. */
const workingMemory = onePerSize((capacity) => ({
  border: new BorderSearch(capacity),
  sorting: new RadixSort(capacity),
}));

/** For samplers that need them only during a call: those of a large vocabulary take 3 MB, which would be allocated for each request. */
export const candidatesFor = onePerSize((capacity) => new Candidates(capacity));

const sampleSize = 1024;

/**
 * Loads the `count` highest logits of a vocabulary, unsorted; of equals at the border the lower ids. NaN counts as impossible. A
 * small sample gives a floor that more than `count` logits reach; one pass gathers those, and only they are examined further.
 */
export function keepHighest(logits: Float32Array, count: number, into: Candidates): void {
  if (logits.length <= count) {
    into.loadAll(logits);
    return;
  }
  const floor = likelyFloor(logits, count, into);
  if (floor > -Infinity) into.loadReaching(floor, logits);
  // Without a floor all are loaded, including NaN, which no comparison lets through.
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

/** A logit that more than `count` entries very probably reach: by their share of the sample, with a wide margin. */
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
