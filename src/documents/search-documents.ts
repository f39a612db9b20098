import type { DocumentHit, DocumentHits, DocumentQuery } from '../core/documents.ts';
import type { EmbeddingService } from '../core/embedding.ts';
import type { RequestContext } from '../core/request-context.ts';
import type { StoredCollection } from './document-store.ts';
import { completedQuery } from './search/follow-up.ts';
import { defaultWeights } from './search/fusion.ts';
import type { PassageCandidate } from './storage/collection.ts';
import type { StoreHost } from './store-host.ts';

interface SearchOptions {
  readonly store: Pick<StoreHost, 'call' | 'callWith'>;
  readonly embedding: () => EmbeddingService | undefined;
  readonly owner: string;
}

/** Candidates beyond the limit: some are joined, or moved by the reranker. */
const minCandidates = 30;
const maxCandidates = 100;

/** Searches collections by meaning and by keywords, each with the vectors of its own model. */
export async function searchDocuments(
  { store, embedding, owner }: SearchOptions,
  query: DocumentQuery,
  collections: readonly StoredCollection[],
  signal: AbortSignal,
): Promise<DocumentHits> {
  const { conversation = [], limit, filter, weights = defaultWeights, threshold = 0 } = query;
  const queries = query.queries.map((text) => completedQuery(text, conversation)).filter((text) => text.trim() !== '');
  const service = embedding();
  const notes = collections.flatMap((collection) => noteOf(collection, service?.name));
  if (queries.length === 0 || limit < 1) return { queries, hits: [], notes };
  const isCurrent = ({ embedding: model }: StoredCollection): boolean => model !== '' && model === service?.name;
  const hasVectors = collections.some((one) => isCurrent(one) && one.passages > 0);
  const context: RequestContext = { genkey: '', client: 'documents', signal, admitted: true };
  // A model that only ranks has no vectors.
  const isRanker = service?.facts()?.pooling === 'rank';
  const vectors =
    service && hasVectors && !isRanker && weights.vector > 0
      ? (await service.embed({ inputs: queries, truncate: true }, context)).vectors.map(
          ([vector]) => vector ?? new Float32Array(),
        )
      : [];
  const rules = { filter, weights, limit: Math.min(maxCandidates, Math.max(minCandidates, 3 * limit)) };
  const search = async (hasCurrent: boolean, own: readonly Float32Array[]) => {
    const ids = collections.filter((one) => isCurrent(one) === hasCurrent).map(({ id }) => id);
    return ids.length === 0 ? [] : store.callWith({ vectors: own, signal }, 'search', owner, ids, queries, rules);
  };
  const candidates = (await Promise.all([search(true, vectors), search(false, [])]))
    .flat()
    .sort((one, other) => other.score - one.score);
  // The cosine of an embedding model is part of the score already. What a remote model is, is not known.
  const pooling = service?.facts()?.pooling;
  const hasRanker = service !== undefined && (pooling === undefined || pooling === 'rank');
  if (query.rerank && !hasRanker) notes.push('The results are not reranked: this server has no reranking model.');
  const reranks = hasRanker && (query.rerank ?? isRanker);
  const ranked = reranks && service ? await reranked(candidates, queries, service, context) : candidates.map(hitOf);
  const chosen = ranked.filter(({ score }) => score >= threshold).slice(0, limit + maxJoins);
  const hits = chosen.length === 0 ? [] : await store.call('joined', owner, chosen);
  return { queries, hits: hits.slice(0, limit), notes };
}

/** Passages beyond the limit that may be neighbours of better ones. */
const maxJoins = 5;

function hitOf({ passage, score, found }: PassageCandidate): DocumentHit {
  return { passage, score, found };
}

/** How many are given to the reranker: one takes 5 to 50 ms. */
const maxReranked = 30;

/** The reranked candidates, the best first. */
async function reranked(
  candidates: readonly PassageCandidate[],
  queries: readonly string[],
  service: EmbeddingService,
  context: RequestContext,
): Promise<readonly DocumentHit[]> {
  const first = candidates.slice(0, maxReranked);
  if (first.length === 0) return [];
  const documents = first.map(({ rankText }) => rankText);
  const rankings = await Promise.all(
    queries.map((query) => service.rank({ query, documents, truncate: true }, context)),
  );
  const isRanker = service.facts()?.pooling === 'rank';
  const hits = first.map((candidate, index) => {
    const raw = Math.max(...rankings.map(({ scores }) => scores[index] ?? Number.NEGATIVE_INFINITY));
    // A ranking model gives the logarithm of odds; remote ones mostly a number between 0 and 1.
    const score = isRanker ? 1 / (1 + Math.exp(-raw)) : Math.min(1, Math.max(0, raw));
    return { ...hitOf(candidate), score, found: { ...candidate.found, reranked: score } };
  });
  return hits.sort((one, other) => other.score - one.score);
}

/** What keeps a search from being complete. */
function noteOf({ name, embedding, files }: StoredCollection, model: string | undefined): readonly string[] {
  const notes: string[] = [];
  if (files.total > 0 && model === undefined)
    notes.push(`${name}: only keywords were searched, because this server has no embedding model.`);
  else if (files.total > 0 && embedding !== model)
    notes.push(
      `${name}: only keywords were searched, because its vectors are of ${embedding === '' ? 'no model' : embedding} and this server has ${model}. Index it again.`,
    );
  if (files.inProgress > 0) notes.push(`${name}: ${files.inProgress} of ${files.total} files are still being indexed.`);
  return notes;
}
