import type { Near } from '../vectors/vector-index.ts';

/** How much each way of searching counts. */
export interface Weights {
  readonly vector: number;
  readonly keywords: number;
}

/** By measurement on the questions of `docs/knowledge.md`. */
export const defaultWeights: Weights = { vector: 0.3, keywords: 0.7 };

/** A passage that was found. */
export interface Candidate {
  readonly id: number;
  /** 0 to 1. */
  readonly score: number;
  /** Its rank in each way of searching, from 1. */
  readonly found: { readonly vector?: number; readonly keywords?: number };
}

interface Matching {
  readonly id: number;
  /** 0 to 1. */
  readonly score: number;
}

/** Texts that have nothing to do with each other have a cosine of about 0, with noise above it. */
const unrelated = 0.05;

/**
 * Adds both scores by their weights. Scores and not ranks, because a first rank says nothing about how near it is: both are between 0 and 1
 * for every question, so a threshold means the same. A passage that only the keywords found has a similarity all the same; one that only
 * its vector found has about none of the words.
 */
export function fused(
  matching: readonly Matching[],
  vectors: { readonly near: readonly Near[]; readonly similarities: ReadonlyMap<number, number> } | undefined,
  { vector, keywords }: Weights,
): readonly Candidate[] {
  if (!vectors) return matching.map(({ id, score }, index) => ({ id, score, found: { keywords: index + 1 } }));
  const sum = vector + keywords;
  const candidates = new Map<number, Pick<Candidate, 'found'> & { similarity: number; keywordScore: number }>();
  for (const [index, { id, similarity }] of vectors.near.entries())
    candidates.set(id, { similarity, keywordScore: 0, found: { vector: index + 1 } });
  for (const [index, { id, score }] of matching.entries()) {
    const similarity = candidates.get(id)?.similarity ?? vectors.similarities.get(id) ?? 0;
    candidates.set(id, {
      similarity,
      keywordScore: score,
      found: { ...candidates.get(id)?.found, keywords: index + 1 },
    });
  }
  return [...candidates].map(([id, { similarity, keywordScore, found }]) => ({
    id,
    score: (vector * nearness(similarity) + keywords * keywordScore) / sum,
    found,
  }));
}

function nearness(similarity: number): number {
  return Math.min(1, Math.max(0, (similarity - unrelated) / (1 - unrelated)));
}
