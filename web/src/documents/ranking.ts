/** How well each passage answers a question: higher is better. All functions are pure. */

/** Words in lower case; scripts without spaces are split into pairs of characters. */
export function wordsOf(text: string): string[] {
  const words: string[] = [];
  for (const [run] of text.toLowerCase().matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    if (!/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(run)) {
      words.push(run.length > 3 ? run.replace(/s$/, '') : run);
      continue;
    }
    const characters = [...run];
    if (characters.length === 1) words.push(run);
    for (let at = 0; at + 1 < characters.length; at += 1) words.push(`${characters[at]}${characters[at + 1]}`);
  }
  return words;
}

/** Usual values of BM25. */
const saturation = 1.2;
const lengthWeight = 0.75;

/** BM25 scores of passages for a question. Yields now and then, so that a caller can let the page draw. */
export function* keywordScores(question: string, passages: Iterable<string>): Generator<void, Float32Array> {
  const terms = [...new Set(wordsOf(question))];
  const indexes = new Map(terms.map((word, index) => [word, index]));
  const counts: Uint16Array[] = [];
  const lengths: number[] = [];
  const containing = new Uint32Array(terms.length);
  for (const passage of passages) {
    const frequencies = new Uint16Array(terms.length);
    const words = wordsOf(passage);
    for (const word of words) {
      const index = indexes.get(word);
      if (index !== undefined) frequencies[index] = (frequencies[index] ?? 0) + 1;
    }
    frequencies.forEach((count, index) => {
      if (count > 0) containing[index] = (containing[index] ?? 0) + 1;
    });
    counts.push(frequencies);
    lengths.push(words.length);
    if (counts.length % 50 === 0) yield;
  }
  const average = lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, lengths.length) || 1;
  return Float32Array.from(counts, (frequencies, index) => {
    const norm = saturation * (1 - lengthWeight + (lengthWeight * (lengths[index] ?? 0)) / average);
    return frequencies.reduce((score, count, word) => {
      const documents = containing[word] ?? 0;
      // A word of most passages says nothing; in a ranking it would be noise.
      if (count === 0 || (counts.length >= 8 && documents > counts.length / 2)) return score;
      const rare = Math.log(1 + (counts.length - documents + 0.5) / (documents + 0.5));
      return score + (rare * count * (saturation + 1)) / (count + norm);
    }, 0);
  });
}

/** Cosine similarity of a vector with each of the vectors that lie one after another. */
export function cosineScores(vector: Float32Array, vectors: Float32Array): Float32Array {
  const size = vector.length;
  const scores = new Float32Array(size === 0 ? 0 : Math.floor(vectors.length / size));
  const own = Math.hypot(...vector) || 1;
  for (let index = 0; index < scores.length; index += 1) {
    let product = 0;
    let square = 0;
    for (let at = 0; at < size; at += 1) {
      const other = vectors[index * size + at] ?? 0;
      product += (vector[at] ?? 0) * other;
      square += other * other;
    }
    scores[index] = product / (own * (Math.sqrt(square) || 1));
  }
  return scores;
}

/** Below this rank the difference between neighbours hardly counts: the usual constant of reciprocal rank fusion. */
const flattening = 60;

/**
 * One score of several rankings by reciprocal rank fusion, since their values cannot be compared. A passage with a score of 0
 * or less gets nothing from that ranking.
 */
export function fusedScores(
  rankings: readonly { readonly scores: Float32Array; readonly weight: number }[],
): Float32Array {
  const fused = new Float32Array(rankings[0]?.scores.length ?? 0);
  for (const { scores, weight } of rankings) {
    bestFirst(scores).forEach((index, rank) => {
      fused[index] = (fused[index] ?? 0) + weight / (flattening + rank);
    });
  }
  return fused;
}

/** Indexes of the passages with a score, best first. */
function bestFirst(scores: Float32Array): number[] {
  const order = [...scores.keys()].filter((index) => (scores[index] ?? 0) > 0);
  return order.sort((a, b) => (scores[b] ?? 0) - (scores[a] ?? 0) || a - b);
}

/** The rank, from 1, of each passage with a score, by its index. */
export function ranksOf(scores: Float32Array): ReadonlyMap<number, number> {
  return new Map(bestFirst(scores).map((index, rank) => [index, rank + 1]));
}

/** Indexes of the best passages whose lengths fit in the budget, best first. Passages without a score are left out. */
export function bestWithin(scores: Float32Array, lengths: readonly number[], budget: number): number[] {
  const chosen: number[] = [];
  let left = budget;
  for (const index of bestFirst(scores)) {
    const length = lengths[index] ?? 0;
    // A worse one that happens to be short would be noise.
    if (length > left && chosen.length > 0) break;
    chosen.push(index);
    left -= length;
  }
  return chosen;
}
