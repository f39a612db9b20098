import type { Grammar } from '../src/core/request.ts';
import { defaultSampling, type Sampling } from '../src/core/sampling-fields.ts';
import { NativeGrammar } from '../src/engines/llama/worker/grammar.ts';
import { libraryFolder } from '../src/engines/llama/worker/library.ts';
import { loadModel } from '../src/engines/llama/worker/model.ts';
import { dryBreakers } from '../src/sampling/dry-breakers.ts';
import { Sampler, type SamplerOptions } from '../src/sampling/sampler.ts';
import { startBareLoop } from './bare-process.ts';
import { promptOf } from './engine.ts';
import { openLlama } from './llama-library.ts';
import { cachedModel } from './model-cache.ts';
import { type BenchOptions, workerOptions } from './options.ts';
import type { Row } from './report.ts';
import { lowest } from './statistics.ts';

const historyLength = 1500;
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
      const wanted = goal === undefined ? {} : { goal: { atMost: goal } };
      rows.push({ bench: 'sampling', what: `${name}, of a token`, value: share, unit: '%', ...wanted });
    }
  }
  rows.push({
    bench: 'sampling',
    what: 'JSON grammar, 32k tokens',
    value: await grammarMicroseconds(model, picks),
    unit: 'µs',
  });
  return rows;
}

type Extra = Partial<SamplerOptions> & { readonly vocabularySize: number };

/** The least disturbed of several runs; what the copy of the logits takes is taken off. */
function pickMicroseconds(
  changes: Partial<Sampling>,
  extra: Extra,
  picks: number,
  after?: (token: number) => void,
): number {
  const { vocabularySize } = extra;
  const settings = { ...defaultSampling, ...changes };
  const words = {
    size: vocabularySize,
    piece: (token: number) => pieces[token % pieces.length] as string,
    tokenize: () => [7],
  };
  const sampler = new Sampler(settings, {
    contextSize: 4096,
    seed: 7,
    logitBias: [],
    bannedTokens: [],
    ...(settings.dryBreakers.length > 0 ? { dryBreakers: dryBreakers(settings.dryBreakers, words) } : {}),
    ...extra,
  });
  const sets = Array.from({ length: 8 }, (_, seed) => randomLogits(vocabularySize, seed + 1));
  const history = Int32Array.from(randomLogits(historyLength, 99), (value) => Math.abs(Math.floor(value * 1e4)) % 500);
  const logits = new Float32Array(vocabularySize);
  const timed = (work: (index: number) => void): number => {
    const startedAt = performance.now();
    for (let index = 0; index < picks; index += 1) work(index);
    return ((performance.now() - startedAt) * 1000) / picks;
  };
  const copy = (index: number) => logits.set(sets[index % sets.length] as Float32Array);
  const whole = (index: number) => {
    copy(index);
    const token = sampler.pick(logits, history, historyLength);
    after?.(token);
  };
  timed(whole);
  const runs = Array.from({ length: 7 }, () => ({ whole: timed(whole), copy: timed(copy) }));
  return lowest(runs.map((run) => run.whole)) - lowest(runs.map((run) => run.copy));
}

const pieces = [' the', 'ing', '\n', ' a', '."', 'x', ' said', ':'];

/** Spread like a real model's: most tokens far behind a few. */
function randomLogits(count: number, seed: number): Float32Array {
  let state = seed * 2654435761;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 1) / (2 ** 32 + 1);
  };
  return Float32Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()) * 2.5,
  );
}

const jsonText: Grammar = {
  gbnf: 'root ::= "\\"" [^"\\\\]* "\\""',
  retainState: false,
};

/** Inside a JSON string, where nearly all tokens may follow: the common case, and the dear one. */
async function grammarMicroseconds(model: string, picks: number): Promise<number> {
  openLlama(libraryFolder('cpu')).silence();
  const loaded = await loadModel(await workerOptions(model, ['--usecpu', '--contextsize', '512'], 1), () => {});
  const { vocabulary } = loaded;
  const grammar = new NativeGrammar(vocabulary, jsonText);
  for (const token of vocabulary.tokenize('"', { addSpecial: false })) {
    if (Buffer.from(vocabulary.bytes(token, false)).toString() === '"') grammar.accept(token);
  }
  const extra = { vocabularySize: vocabulary.size, grammar };
  return pickMicroseconds(
    {},
    extra,
    Math.ceil(picks / 10),
    (token) => token >= 0 && !vocabulary.isEnd(token) && grammar.accept(token),
  );
}

async function bareToken(model: string): Promise<number> {
  const bare = await startBareLoop(await workerOptions(model, ['--usecpu', '--contextsize', '2048'], 1));
  try {
    const runs: number[] = [];
    for (let round = 0; round < 4; round += 1) {
      const { generationMs } = await bare.run(promptOf(round).slice(0, 200), 100);
      runs.push((generationMs * 1000) / 99);
    }
    return lowest(runs);
  } finally {
    await bare.stop();
  }
}
