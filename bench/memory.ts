import { type Contender, memoryOf, peakMemoryOf, startContenders } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Row } from './report.ts';
import { streamCompletion } from './text-stream.ts';

const streams = 16;
const context = 8192;
const promptWords = 40;
const replyTokens = 32;

interface Memory {
  readonly name: string;
  readonly loaded: number;
  readonly answered: number;
  readonly peak: number;
}

/** What servers hold that could serve many long conversations, when each of these is still short. */
export async function memoryBench(options: BenchOptions): Promise<Row[]> {
  const shape = { model: await benchModel(options), threads: options.threads ?? 2, context, parallel: streams };
  const contenders = await startContenders(options, { ...shape, batch: 512 });
  const found: Memory[] = [];
  try {
    for (const contender of contenders) {
      const memory = await oneOnEachStream(contender);
      if (memory) found.push(memory);
    }
  } finally {
    for (const contender of contenders) await contender.stop();
  }
  return memoryRows(found);
}

async function oneOnEachStream(contender: Contender): Promise<Memory | undefined> {
  const loaded = memoryOf(contender);
  const prompts = Array.from({ length: streams }, (_, index) => nonsense(index, promptWords));
  await Promise.all(prompts.map((prompt) => streamCompletion(contender, prompt, replyTokens)));
  const [answered, peak] = [memoryOf(contender), peakMemoryOf(contender)];
  if (loaded === undefined || answered === undefined || peak === undefined) return undefined;
  return { name: contender.name, loaded, answered, peak };
}

export function memoryRows(found: readonly Memory[]): Row[] {
  const rows = found.flatMap(({ name, loaded, answered, peak }) =>
    [
      { what: `${name}: loaded`, value: loaded },
      { what: `${name}: after a short request on each stream`, value: answered },
      { what: `${name}: most it ever held`, value: peak },
    ].map((row) => ({ bench: 'memory', ...row, unit: 'MB' })),
  );
  const [parley, peer] = found;
  if (!parley || !peer) return rows;
  const value = parley.answered / peer.answered;
  return [
    ...rows,
    { bench: 'memory', what: 'Parley ÷ peer, after the requests', value, unit: '', goal: { atMost: 0.5 } },
  ];
}
