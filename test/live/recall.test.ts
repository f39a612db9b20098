import { expect, test } from 'vitest';
import {
  isHeldOut,
  quickQuestions,
  recallAt,
  recallPassages,
  recallQuestions,
  recallRanks,
  recallWays,
} from '../../bench/recall.ts';
import { freshFolders } from '../../src/store/testing/folder.ts';
import { nativeClient } from './client.ts';
import { liveServers } from './server.ts';

const startServer = liveServers();
const freshFolder = freshFolders();

test('recall: every question has a passage with its answer', async () => {
  const passages = await recallPassages();
  const without = recallQuestions.filter(
    ({ page, text }) => !passages.some((passage) => passage.page === page && passage.text.includes(text)),
  );
  expect(recallQuestions.length).toBeGreaterThanOrEqual(120);
  // A changed sentence of the documentation needs a changed text in bench/recall-questions.json.
  expect(without).toEqual([]);
});

test('recall: the search of the server finds the passage of nine in ten questions among the first five', async () => {
  const { base } = await startServer(['--nomodel']);
  const client = nativeClient(base);
  const questions = process.env.PARLEY_TEST_RECALL === 'all' ? recallQuestions : quickQuestions;
  const ranks = await recallRanks(freshFolder(), questions, async (texts) => {
    const vectors: Float32Array[] = [];
    for (let at = 0; at < texts.length; at += 32) {
      const answer = await client.post('/v1/embeddings', { input: texts.slice(at, at + 32), truncate: true });
      const { data } = answer.json() as { data: { embedding: number[] }[] };
      vectors.push(...data.map(({ embedding }) => Float32Array.from(embedding)));
    }
    return vectors;
  });
  const sets = {
    all: ranks,
    'chosen with': ranks.filter((rank) => !isHeldOut(rank)),
    'held out': ranks.filter(isHeldOut),
  };
  for (const [name, set] of Object.entries(sets)) {
    console.log(`${name}, ${set.length} questions`);
    for (const way of recallWays)
      console.log(`| ${way} | ${[1, 5, 10].map((limit) => recallAt(set, way, limit).toFixed(2)).join(' | ')} |`);
  }
  expect(recallAt(ranks, 'joined', 5)).toBeGreaterThanOrEqual(0.9);
  expect(recallAt(ranks, 'fused', 5)).toBeGreaterThanOrEqual(recallAt(ranks, 'keywords', 5));
});
