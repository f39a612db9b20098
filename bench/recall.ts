import { readFileSync } from 'node:fs';
import { whole } from '../src/core/slices.ts';
import { readDocument } from '../src/documents/formats/read-document.ts';
import { embeddedText, passagesOf, passageText } from '../src/documents/passages.ts';
import { cosineScores, keywordScores } from '../web/src/documents/ranking.ts';

/** A question, the page of `docs/` that answers it, and a text that is in every passage with the answer. */
interface RecallQuestion {
  readonly question: string;
  readonly page: string;
  readonly text: string;
}

export const recallQuestions: readonly RecallQuestion[] = JSON.parse(
  readFileSync(new URL('recall-questions.json', import.meta.url), 'utf8'),
);

/** The passages of the pages that the questions are about: as they are shown, and as they are embedded and searched for words. */
export async function recallPassages() {
  const passages: { readonly page: string; readonly text: string; readonly embedded: string }[] = [];
  for (const page of new Set(recallQuestions.map((question) => question.page))) {
    const document = await readDocument(page, readFileSync(new URL(`../docs/${page}`, import.meta.url)));
    for (const span of whole(passagesOf(document)))
      passages.push({
        page,
        text: passageText(document.text, span),
        embedded: embeddedText(document.title, document.text, span),
      });
  }
  return passages;
}

/** Of BM25 divided by its best score, which is more than the share of all words that the server's search uses. */
const weights = { vector: 0.8, keywords: 0.2 } as const;

type Way = 'keywords' | 'vectors' | 'fused';

/** The rank of the first right passage for each question, from 1, by each way of searching; searched exactly, with float vectors. */
export async function recallRanks(
  embed: (texts: readonly string[]) => Promise<readonly Float32Array[]>,
): Promise<readonly (RecallQuestion & Readonly<Record<Way, number>>)[]> {
  const passages = await recallPassages();
  const vectors = await embed(passages.map(({ embedded }) => embedded));
  const asked = await embed(recallQuestions.map(({ question }) => question));
  const size = vectors[0]?.length ?? 0;
  const all = new Float32Array(vectors.length * size);
  for (const [index, vector] of vectors.entries()) all.set(vector, index * size);
  return recallQuestions.map((question, index) => {
    const rank = (scores: Float32Array): number => {
      const order = [...scores.keys()].sort((one, other) => (scores[other] ?? 0) - (scores[one] ?? 0));
      const right = order.findIndex(
        (at) => passages[at]?.page === question.page && passages[at].text.includes(question.text),
      );
      return right === -1 ? Number.POSITIVE_INFINITY : right + 1;
    };
    const keywords = whole(
      keywordScores(
        question.question,
        passages.map(({ embedded }) => embedded),
      ),
    );
    const most = Math.max(...keywords) || 1;
    const similarities = cosineScores(asked[index] ?? new Float32Array(size), all);
    const fused = similarities.map(
      (similarity, at) => weights.vector * Math.max(0, similarity) + (weights.keywords * (keywords[at] ?? 0)) / most,
    );
    return { ...question, keywords: rank(keywords), vectors: rank(similarities), fused: rank(fused) };
  });
}

/** The share of questions with a right passage among the first ones. */
export function recallAt(ranks: readonly Readonly<Record<Way, number>>[], way: Way, limit: number): number {
  return ranks.filter((rank) => rank[way] <= limit).length / ranks.length;
}
