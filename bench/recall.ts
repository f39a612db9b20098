import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EmbeddingService } from '../src/core/embedding.ts';
import { whole } from '../src/core/slices.ts';
import { DocumentStore } from '../src/documents/document-store.ts';
import { readDocument } from '../src/documents/formats/read-document.ts';
import { fileState } from '../src/documents/open-file.ts';
import { passagesOf, passageText } from '../src/documents/passages.ts';
import { defaultWeights, type Weights } from '../src/documents/search/fusion.ts';
import { searchDocuments } from '../src/documents/search-documents.ts';

/** A question, the page of `docs/` that answers it, and a text that is in every passage with the answer. */
interface RecallQuestion {
  readonly question: string;
  readonly page: string;
  readonly text: string;
}

export type Embed = (texts: readonly string[]) => Promise<readonly Float32Array[]>;

export const recallQuestions: readonly RecallQuestion[] = JSON.parse(
  readFileSync(new URL('recall-questions.json', import.meta.url), 'utf8'),
);

/** Those whose passages are embedded in half a minute of processor time instead of two. */
export const quickQuestions = recallQuestions.filter(({ page }) =>
  ['guide.md', 'install.md', 'monitoring.md', 'streams.md', 'clusters.md'].includes(page),
);

const pagesOf = (questions: readonly RecallQuestion[]) => new Set(questions.map(({ page }) => page));

/** A third of the questions, by a hash: weights are chosen with the others. */
export function isHeldOut({ question }: RecallQuestion): boolean {
  return (createHash('sha256').update(question).digest()[0] ?? 0) % 3 === 0;
}

/** The passages of the pages that the questions are about. */
export async function recallPassages() {
  const passages: { readonly page: string; readonly text: string }[] = [];
  for (const page of pagesOf(recallQuestions)) {
    const document = await readDocument(page, readFileSync(pathOf(page)));
    for (const span of whole(passagesOf(document))) passages.push({ page, text: passageText(document.text, span) });
  }
  return passages;
}

/** The ways of searching, and whether neighbours are joined, as the server does. */
const ways = {
  keywords: { weights: { vector: 0, keywords: 1 }, joins: false },
  vectors: { weights: { vector: 1, keywords: 0 }, joins: false },
  fused: { weights: defaultWeights, joins: false },
  joined: { weights: defaultWeights, joins: true },
} as const satisfies Record<string, { readonly weights: Weights; readonly joins: boolean }>;

export type Way = keyof typeof ways;
export const recallWays = Object.keys(ways) as readonly Way[];

/** For each question, and each way of searching, the rank of the first hit with the answer, from 1. */
export type RecallRanks = RecallQuestion & Readonly<Record<Way, number>>;

const owner = 'common';
const id = 'vs_recall';
const model = 'built-in';
const batch = 32;

/** Indexes the pages of the questions in a new store in `folder`, and asks each question, with the functions of the server. */
export async function recallRanks(
  folder: string,
  asked: readonly RecallQuestion[],
  embed: Embed,
): Promise<readonly RecallRanks[]> {
  const { signal } = new AbortController();
  const store = await filledStore(folder, pagesOf(asked), embed, signal);
  try {
    const questions = asked.map(({ question }) => question);
    const vectors = new Map((await embed(questions)).map((vector, index) => [questions[index] ?? '', vector]));
    const embedding = {
      name: model,
      facts: () => undefined,
      embed: async ({ inputs }: { readonly inputs: readonly string[] }) => ({
        vectors: inputs.map((input) => [vectors.get(input)]),
      }),
    } as unknown as EmbeddingService;
    const collections = await store.collections(owner);
    const ranks: RecallRanks[] = [];
    for (const question of asked) {
      const rankByWay: Partial<Record<Way, number>> = {};
      for (const way of recallWays) {
        const { weights, joins } = ways[way];
        const search = async (limit: number): Promise<number> => {
          const query = { queries: [question.question], collections: [id], limit, weights };
          const deps = { store: inProcess(store, joins), embedding: () => embedding, owner };
          const { hits } = await searchDocuments(deps, query, collections, signal);
          const isRight = (hit: (typeof hits)[number]): boolean =>
            hit.passage.name === question.page && hit.passage.text.includes(question.text);
          const index = hits.findIndex(isRight);
          return index === -1 ? Number.POSITIVE_INFINITY : index + 1;
        };
        // With a limit of 5 fewer passages are there to be joined than with 10.
        const first = await search(5);
        rankByWay[way] = first <= 5 ? first : Math.max(6, await search(10));
      }
      ranks.push({ ...question, ...(rankByWay as Record<Way, number>) });
    }
    return ranks;
  } finally {
    await store.close();
  }
}

/** The share of questions with a right hit among the first ones. */
export function recallAt(ranks: readonly RecallRanks[], way: Way, limit: number): number {
  return ranks.filter((rank) => rank[way] <= limit).length / ranks.length;
}

async function filledStore(
  folder: string,
  pages: ReadonlySet<string>,
  embed: Embed,
  signal: AbortSignal,
): Promise<DocumentStore> {
  const store = new DocumentStore({
    folder: join(folder, 'documents'),
    read: async (name, path) => readDocument(name, readFileSync(path)),
    now: Date.now,
    tick: () => performance.now(),
    startTimer: () => ({ restart: () => undefined, cancel: () => undefined }),
    warn: failed,
    onWork: () => undefined,
  });
  const facts = { name: 'documentation', description: '', metadata: {}, createdAt: 1, lastActiveAt: 1 };
  store.create(owner, { ...facts, id, embedding: model, dimensions: 0 });
  const files = [...pages].map(async (page) => {
    const source = pathOf(page);
    return { id: `file-${page}`, name: page, source, createdAt: 1, ...(await fileState(source)) };
  });
  store.addFiles(owner, id, await Promise.all(files));
  for (let step = store.next(model, batch); step; step = store.next(model, batch)) {
    if (step.type === 'read') await store.read(step.collection, step.file, model, { vectors: [], signal });
    else {
      const { passages } = step;
      const vectors = await embed(passages.map(({ text }) => text));
      const ids = passages.map((passage) => passage.id);
      store.setVectors(step.collection, ids, { vectors, signal });
    }
  }
  return store;
}

/** The store without its process. */
function inProcess(store: DocumentStore, joins: boolean): Parameters<typeof searchDocuments>[0]['store'] {
  return {
    // biome-ignore lint/suspicious/noExplicitAny: the types of both are those of the method.
    call: async (method: string, ...args: any[]) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      method === 'joined' && !joins ? args[1] : (store as any)[method](...args),
    // biome-ignore lint/suspicious/noExplicitAny: as above.
    callWith: async (tools, method: string, ...args: any[]) =>
      // biome-ignore lint/suspicious/noExplicitAny: as above.
      (store as any)[method](...args, { vectors: [], ...tools }),
  };
}

function failed(sentence: string): never {
  throw new Error(sentence);
}

function pathOf(page: string): string {
  return fileURLToPath(new URL(`../docs/${page}`, import.meta.url));
}
