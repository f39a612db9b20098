import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { Sampling } from '../src/core/sampling-fields.ts';
import { startBareLoop } from './bare-process.ts';
import { cachedModel } from './model-cache.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, workerOptions } from './options.ts';
import { pickMicroseconds } from './pick-time.ts';
import type { Row } from './report.ts';
import { lowest } from './statistics.ts';

const breakers = ['\n', ':', '"', '*'];

const everything: Partial<Sampling> = {
  temperature: 0.9,
  dynamicRange: 0.3,
  smoothingFactor: 0.2,
  topK: 0,
  topP: 0.95,
  minP: 0.01,
  topA: 0.05,
  typical: 0.95,
  tailFree: 0.98,
  xtcProbability: 0.5,
  xtcThreshold: 0.1,
  repetitionPenalty: 1.1,
  presencePenalty: 0.1,
  dryMultiplier: 0.8,
  dryBreakers: breakers,
};

const cases: readonly { readonly name: string; readonly sampling: Partial<Sampling>; readonly goal?: number }[] = [
  { name: 'greedy', sampling: { temperature: 0 } },
  { name: 'default settings', sampling: {}, goal: 3 },
  { name: 'default settings without top-k', sampling: { topK: 0 } },
  { name: 'repetition penalty', sampling: { repetitionPenalty: 1.1 } },
  { name: 'mirostat 2', sampling: { mirostat: 2 } },
  { name: 'everything on', sampling: everything },
];

/** What choosing a token costs, alone and as a share of making one with the model of the engine bench. */
export async function samplingBench({ quick, log }: BenchOptions): Promise<Row[]> {
  const model = await cachedModel('random-124m');
  const picks = quick ? 100 : 300;
  const tokenMicroseconds = await bareToken(model);
  log(`a token of the model takes ${(tokenMicroseconds / 1000).toFixed(2)} ms on one thread`);
  const rows: Row[] = [{ bench: 'sampling', what: 'a token of the model', value: tokenMicroseconds, unit: 'µs' }];
  for (const vocabularySize of [32_000, 128_000]) {
    for (const { name, sampling, goal } of cases) {
      const value = pickMicroseconds(sampling, { vocabularySize }, picks);
      const what = `${name}, ${vocabularySize / 1000}k tokens`;
      rows.push({ bench: 'sampling', what, value, unit: 'µs' });
      if (vocabularySize > 32_000) continue;
      const share = (value / tokenMicroseconds) * 100;
      const goalField = goal === undefined ? {} : { goal: { atMost: goal } };
      rows.push({ bench: 'sampling', what: `${name}, of a token`, value: share, unit: '%', ...goalField });
    }
  }
  rows.push({
    bench: 'sampling',
    what: 'JSON grammar, 32k tokens',
    value: await grammarMicroseconds(model, Math.ceil(picks / 10)),
    unit: 'µs',
  });
  return rows;
}

async function bareToken(model: string): Promise<number> {
  const bare = await startBareLoop(await workerOptions(model, ['--usecpu', '--contextsize', '2048'], 1));
  try {
    const runs: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const { generationMs } = await bare.run(nonsense(round, 50), 100);
      runs.push((generationMs * 1000) / 99);
    }
    return lowest(runs);
  } finally {
    await bare.stop();
  }
}

function grammarMicroseconds(model: string, picks: number): Promise<number> {
  const child = fork(fileURLToPath(new URL('grammar-time.js', import.meta.url)), [model, String(picks)], {
    stdio: ['ignore', 'inherit', 'ignore', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('message', (value) => resolve(value as number));
    child.once('exit', (code) => reject(new Error(`the grammar could not be measured (code ${code})`)));
  });
}
