import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultSettings } from '../src/config/flags.ts';
import { loadOptions } from '../src/engines/llama/load-options.ts';
import { forkLoop } from './bare-process.ts';
import type { FromEmbeddingLoop, ToEmbeddingLoop } from './embedding-loop.ts';
import { post } from './http-client.ts';
import { type BenchOptions, defaultThreads } from './options.ts';
import type { Row } from './report.ts';
import { ended, startServer } from './server-process.ts';
import { median } from './statistics.ts';

const sentences = [
  'A man is playing a guitar on stage.',
  'How do I reset my password?',
  'The train is late again today.',
  'She bought two loaves of bread.',
  'Water boils at one hundred degrees.',
  'Our meeting was moved to Friday.',
  'The garden needs rain.',
  'Please close the window.',
];
const batchSize = 64;
/** Texts per round, single or in batches. */
const amount = 256;

const texts = Array.from({ length: amount }, (_, index) => `${sentences[index % sentences.length]} ${index}`);
const single: readonly (readonly string[])[] = texts.map((text) => [text]);
const batched: readonly (readonly string[])[] = Array.from({ length: amount / batchSize }, (_, index) =>
  texts.slice(index * batchSize, (index + 1) * batchSize),
);

type Way = (batches: readonly (readonly string[])[]) => Promise<number>;

/** Short sentences with the built-in model, one by one and many at once, over HTTP and by the bare library in turn. */
export async function embeddingsBench({ server: entry, quick, threads, log }: BenchOptions): Promise<Row[]> {
  const used = threads ?? defaultThreads();
  const home = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const server = await startServer(entry, {
    flags: ['--threads', String(used)],
    environment: { PARLEY_HOME: home },
  });
  const bare = await startBare(used);
  const http: Way = async (batches) => {
    const startedAt = performance.now();
    for (const input of batches) {
      const { status, text } = await post(server.port, '/v1/embeddings', { input, encoding_format: 'base64' });
      if (status !== 200) throw new Error(`${status}: ${text}`);
    }
    return performance.now() - startedAt;
  };
  const cases = [
    { what: 'one sentence for each request', ways: [http, bare.run], batches: single },
    { what: `${batchSize} sentences for each request`, ways: [http, bare.run], batches: batched },
  ].map((one) => ({ ...one, rates: [[], []] as number[][] }));
  try {
    for (let round = 0; round <= (quick ? 1 : 5); round += 1) {
      for (const { ways, batches, rates } of cases) {
        for (const [index, way] of ways.entries()) {
          const milliseconds = await way(batches);
          if (round > 0) rates[index]?.push((amount / milliseconds) * 1000);
        }
      }
    }
  } finally {
    await server.stop();
    await bare.stop();
    rmSync(home, { recursive: true });
  }
  const rows = cases.map(({ what, rates: [ours = [], library = []] }): Row => {
    log(
      `${what}: ${ours.map((rate) => rate.toFixed(0)).join(', ')}; bare ${library.map((rate) => rate.toFixed(0)).join(', ')}`,
    );
    const ratio = median(ours.map((rate, index) => rate / (library[index] ?? Number.NaN)));
    return { bench: 'embeddings', what, value: median(ours), unit: 'texts/s', peer: { value: median(library), ratio } };
  });
  const [alone = [], together = []] = cases.map(({ rates }) => rates[0] ?? []);
  const gain = median(together.map((rate, index) => rate / (alone[index] ?? Number.NaN)));
  const goal = { atLeast: 3 };
  return [...rows, { bench: 'embeddings', what: 'many at once ÷ one by one', value: gain, unit: '', goal }];
}

async function startBare(threads: number): Promise<{ run: Way; stop: () => Promise<void> }> {
  const { child, ask } = forkLoop<ToEmbeddingLoop, FromEmbeddingLoop>(new URL('embedding-loop.js', import.meta.url));
  const shape = { architecture: '', layers: 0, trainedContext: 0, sizeBytes: 0, cacheBytesPerToken: 0 };
  const textOptions = loadOptions(defaultSettings, { model: '', name: '', shape, threads, contextSizeGiven: false });
  const options = { ...textOptions, model: { builtIn: true }, maxTokens: 4096, backend: 'cpu', gpuLayers: 0 } as const;
  await ask({ type: 'load', options });
  return {
    run: async (batches) => {
      const reply = await ask({ type: 'run', batches });
      if (reply.type !== 'ran') throw new Error(`the bare loop answered ${reply.type}`);
      return reply.milliseconds;
    },
    stop: () => ended(child),
  };
}
