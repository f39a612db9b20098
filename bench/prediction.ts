import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Knowledge, writePredictionModel } from '../test/models/prediction.ts';
import { type Contender, startParley } from './contender.ts';
import { nonsense } from './nonsense.ts';
import type { BenchOptions } from './options.ts';
import { cpuMicroseconds } from './process-figures.ts';
import type { Row } from './report.ts';
import { median } from './statistics.ts';
import { streamCompletion, wordsFor } from './text-stream.ts';

/** The benches run in the folder of the repository. */
const vocabulary = 'models/parley-mini.gguf';
/** About 60 million weights in nine layers, of which the last is for multi-token prediction. */
const size = { width: 512, heads: 8, hidden: 1024, layers: 8 };
const replyTokens = 192;
const promptTokens = 1500;

const layersThat = {
  'are always right': 'token',
  'are always wrong': 'nothing',
} as const satisfies Record<string, Knowledge>;

interface Measured {
  /** Of processor time: other programs change it less than the time that passes. */
  readonly msPerToken: number;
  readonly msPerPromptToken: number;
}

/** What layers for multi-token prediction cost and give where their drafts are always right or always wrong; trained ones are between. */
export async function predictionBench(options: BenchOptions): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  const rows: Row[] = [];
  try {
    for (const [name, knowledge] of Object.entries(layersThat)) {
      const model = join(folder, `${knowledge}.gguf`);
      await writePredictionModel(model, vocabulary, knowledge, 'whole', size);
      const shape = { model, threads: options.threads ?? 1, context: 4096, gpu: options.gpu };
      const [plain, drafted] = await Promise.all([
        startParley(options, shape),
        startParley(options, shape, ['--usemtp', '--draftamount', '4']),
      ]);
      try {
        rows.push(...(await compared(options, name, plain, drafted)));
      } finally {
        await Promise.all([plain.stop(), drafted.stop()]);
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return rows;
}

async function compared(options: BenchOptions, name: string, plain: Contender, drafted: Contender): Promise<Row[]> {
  const words = await wordsFor(plain, promptTokens);
  const seen: { plain: Measured[]; drafted: Measured[] } = { plain: [], drafted: [] };
  for (let round = 0; round < (options.quick ? 3 : 7); round += 1) {
    // They take turns, so that both run under the same load.
    seen.plain.push(await measure(plain, round, words));
    seen.drafted.push(await measure(drafted, round, words));
  }
  const value = (list: readonly Measured[], key: keyof Measured) => median(list.map((one) => one[key]));
  return (['msPerToken', 'msPerPromptToken'] as const).map((key) => {
    const [without, withLayers] = [value(seen.plain, key), value(seen.drafted, key)];
    options.log(`${key}, layers that ${name}: ${withLayers.toFixed(3)} ms, ${without.toFixed(3)} ms without`);
    const what = key === 'msPerToken' ? 'a token of the reply' : 'a token of the prompt';
    return {
      bench: 'prediction',
      what: `--usemtp, drafts that ${name}: ${what} against one without`,
      value: withLayers / without,
      unit: 'times',
    };
  });
}

async function measure(server: Contender, round: number, words: number): Promise<Measured> {
  const prompt = nonsense(round + 20, words);
  const begun = processorMs(server);
  const { promptTokens: tokens } = await streamCompletion(server, prompt, 1);
  const read = processorMs(server);
  await streamCompletion(server, nonsense(round + 50, 20), replyTokens);
  const written = processorMs(server);
  return { msPerPromptToken: (read - begun) / tokens, msPerToken: (written - read) / replyTokens };
}

const processorMs = (server: Contender): number =>
  server.processes().reduce((sum, pid) => sum + cpuMicroseconds(pid) / 1000, 0);
