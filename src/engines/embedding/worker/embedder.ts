import { setImmediate as turn } from 'node:timers/promises';
import type {
  Embedded,
  EmbeddingFacts,
  EmbeddingRequest,
  Pooling,
  Ranked,
  RankRequest,
} from '../../../core/embedding.ts';
import { AppError } from '../../../core/errors.ts';
import { cosine } from '../../../core/vectors.ts';
import type { Vocabulary } from '../../llama/worker/text/vocabulary.ts';
import { type PairMarks, pairReader, type ReadText, readInput, templateReader } from './inputs.ts';
import { type Computer, SharedBatches } from './shared-batches.ts';

interface EmbedderDeps {
  readonly facts: Pick<EmbeddingFacts, 'maxTokens' | 'pooling' | 'dimensions'>;
  readonly vocabulary: Pick<Vocabulary, 'size' | 'tokenizeAside' | 'detokenize' | 'around'>;
  readonly computer: Computer;
  readonly marks: PairMarks;
  readonly rankTemplate: string | undefined;
}

/** Maximum size of a result; as text it has about ten bytes per number. */
const maxNumbers = 2 ** 24;

/** Embeddings and ranking with one model. */
export class Embedder {
  readonly #batches: SharedBatches;

  constructor(private readonly deps: EmbedderDeps) {
    this.#batches = new SharedBatches(deps.computer);
  }

  /** Reads all weights once, so that the first request is not slow. */
  async warmUp(): Promise<void> {
    const { facts, vocabulary } = this.deps;
    const tokens = await vocabulary.tokenizeAside('a', { addSpecial: true });
    await this.#batches.vectors(facts.pooling, [tokens], new AbortController().signal);
  }

  async embed({ inputs, truncate, pooling }: EmbeddingRequest, signal: AbortSignal): Promise<Embedded> {
    const { facts, vocabulary } = this.deps;
    const used = pooling ?? facts.pooling;
    if (used === 'rank') {
      const instead = 'the loaded model ranks documents and has no vectors; use /v1/rerank, or load another one';
      throw new AppError('unsupported', { feature: 'Embeddings', instead });
    }
    const limits = { maxTokens: facts.maxTokens, truncate };
    const read = await eachOf(inputs, signal, (input, index) =>
      readInput(input, `input[${index}]`, vocabulary, limits),
    );
    const count = used === 'none' ? sum(read.map(({ tokens }) => tokens.length)) : read.length;
    const most = Math.floor(maxNumbers / facts.dimensions);
    if (count > most) {
      const expected = `less: it makes ${count} vectors, and at most ${most} are possible`;
      throw new AppError('invalid-field', { field: 'input', expected });
    }
    const vectors = await this.#vectors(used, read, signal);
    return { vectors, ...figures(read), pooling: used };
  }

  async rank(request: RankRequest, signal: AbortSignal): Promise<Ranked> {
    return this.deps.facts.pooling === 'rank' ? this.#rankPairs(request, signal) : this.#rankVectors(request, signal);
  }

  async #rankPairs({ query, documents, truncate }: RankRequest, signal: AbortSignal): Promise<Ranked> {
    const { facts, vocabulary, marks, rankTemplate } = this.deps;
    const limits = { maxTokens: facts.maxTokens, truncate };
    const readPair =
      rankTemplate === undefined
        ? pairReader(query, vocabulary, marks, limits)
        : templateReader(query, vocabulary, rankTemplate, limits);
    const read = await eachOf(documents, signal, (document, index) => readPair(document, `documents[${index}]`));
    const vectors = await this.#vectors('rank', read, signal);
    const { tokens, truncated } = figures(read);
    return { scores: vectors.map(([figure]) => figure?.[0] ?? 0), tokens: sum(tokens), truncated };
  }

  /** By cosine similarity, for models without a ranking head. */
  async #rankVectors({ query, documents, truncate }: RankRequest, signal: AbortSignal): Promise<Ranked> {
    const { facts, vocabulary } = this.deps;
    const pooling = facts.pooling === 'none' ? 'mean' : facts.pooling;
    const limits = { maxTokens: facts.maxTokens, truncate };
    const queryText = await readInput(query, 'query', vocabulary, { ...limits, truncate: false });
    const read = await eachOf(documents, signal, (text, index) =>
      readInput(text, `documents[${index}]`, vocabulary, limits),
    );
    const [own, ...others] = await this.#vectors(pooling, [queryText, ...read], signal);
    const { tokens, truncated } = figures(read);
    const nearness = ([vector]: readonly Float32Array[]): number => (own?.[0] && vector ? cosine(own[0], vector) : 0);
    return { scores: others.map(nearness), tokens: queryText.tokens.length + sum(tokens), truncated };
  }

  #vectors(pooling: Pooling, read: readonly ReadText[], signal: AbortSignal) {
    const texts = read.map(({ tokens }) => tokens);
    return this.#batches.vectors(pooling, texts, signal);
  }
}

/** Sequential; stops on abort. */
async function eachOf<Value, Result>(
  values: readonly Value[],
  signal: AbortSignal,
  work: (value: Value, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let pauseAt = pauseEvery;
  for (const [index, value] of values.entries()) {
    results.push(await work(value, index));
    if (index < pauseAt) continue;
    // An abort message is only received between two turns of the event loop.
    pauseAt += pauseEvery;
    await turn();
    signal.throwIfAborted();
  }
  return results;
}

const pauseEvery = 64;

function figures(read: readonly ReadText[]): Pick<Embedded, 'tokens' | 'truncated'> {
  return {
    tokens: read.map(({ tokens }) => tokens.length),
    truncated: read.flatMap(({ truncated }, index) => (truncated ? [index] : [])),
  };
}

const sum = (numbers: readonly number[]): number => numbers.reduce((before, number) => before + number, 0);
