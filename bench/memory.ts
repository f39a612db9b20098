import { compared } from './compare.ts';
import { type Contender, memoryOf, peakMemoryOf, startContenders } from './contender.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import type { Goal, Row } from './report.ts';
import { streamCompletion } from './text-stream.ts';

const streams = 16;
const context = 8192;
const promptWords = 40;
const replyTokens = 32;

interface Memory {
  readonly loaded: number;
  readonly answered: number;
  readonly peak: number;
}

/** What servers hold that could serve many long conversations, when each of these is still short. */
export async function memoryBench(options: BenchOptions): Promise<Row[]> {
  const shape = { model: await benchModel(options), threads: options.threads ?? 2, context, parallel: streams };
  const contenders = await startContenders(options, { ...shape, batch: 512 });
  try {
    const samples: (Memory | undefined)[] = [];
    for (const contender of contenders) samples.push(await oneOnEachStream(contender));
    const [parley, peer] = samples;
    return parley ? memoryRows(parley, peer) : [];
  } finally {
    for (const contender of contenders) await contender.stop();
  }
}

async function oneOnEachStream(contender: Contender): Promise<Memory | undefined> {
  const loaded = memoryOf(contender);
  const prompts = Array.from({ length: streams }, (_, index) => nonsense(index, promptWords));
  await Promise.all(prompts.map((prompt) => streamCompletion(contender, prompt, replyTokens)));
  const [answered, peak] = [memoryOf(contender), peakMemoryOf(contender)];
  if (loaded === undefined || answered === undefined || peak === undefined) return undefined;
  return { loaded, answered, peak };
}

function memoryRows(parley: Memory, peer: Memory | undefined): Row[] {
  const row = (what: string, of: keyof Memory, goal?: Goal): Row =>
    compared({ bench: 'memory', what, unit: 'MB' }, { parley: [parley[of]], peer: peer && [peer[of]] }, goal);
  return [
    row('loaded', 'loaded', { atMost: 1.5 }),
    row('after a short request on each stream', 'answered', { atMost: 0.5 }),
    row('most it ever held', 'peak'),
  ];
}
