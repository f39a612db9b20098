import { expect, test } from 'vitest';
import { recallAt, recallPassages, recallQuestions, recallRanks } from '../../bench/recall.ts';
import { nativeClient } from './client.ts';
import { liveServers } from './server.ts';

const startServer = liveServers();

test('recall: every question has a passage with its answer', async () => {
  const passages = await recallPassages();
  const without = recallQuestions.filter(
    ({ page, text }) => !passages.some((passage) => passage.page === page && passage.text.includes(text)),
  );
  expect(recallQuestions.length).toBeGreaterThanOrEqual(120);
  // Whoever changes a sentence of the documentation changes its question in bench/recall-questions.json.
  expect(without).toEqual([]);
});

test('recall: most questions find their passage among the first five', async () => {
  const { base } = await startServer(['--nomodel']);
  const client = nativeClient(base);
  const ranks = await recallRanks(async (texts) => {
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += 32) {
      const answer = await client.post('/v1/embeddings', { input: texts.slice(at, at + 32), truncate: true });
      const { data } = answer.json() as { data: { embedding: number[] }[] };
      vectors.push(...data.map(({ embedding }) => Float32Array.from(embedding)));
    }
    return vectors;
  });
  const ways = ['keywords', 'vectors', 'fused'] as const;
  console.log(
    ways
      .map((way) => `${way}: ${[1, 5, 10].map((limit) => recallAt(ranks, way, limit).toFixed(2)).join(', ')}`)
      .join('\n'),
  );
  expect(recallAt(ranks, 'fused', 5)).toBeGreaterThanOrEqual(0.85);
  expect(recallAt(ranks, 'fused', 5)).toBeGreaterThanOrEqual(recallAt(ranks, 'keywords', 5));
});
