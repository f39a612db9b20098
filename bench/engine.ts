import type { BareRun } from './bare-loop.ts';
import { type BareProcess, startBareLoop } from './bare-process.ts';
import { occurrences, post } from './http-client.ts';
import { cachedModel } from './model-cache.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, defaultThreads, workerOptions } from './options.ts';
import { cpuMicroseconds } from './process-figures.ts';
import type { Row } from './report.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { median } from './statistics.ts';

const flags = ['--usecpu', '--contextsize', '2048'];
const promptWords = 400;
const replyTokens = 128;

/** So little to compute that what is done around it shows; the vocabulary is as large as the large model's. */
const tinyModel = { layers: 1, width: 64, heads: 2, kvHeads: 1, feedForward: 64, vocabulary: 32_000 };

/** Speeds in tokens a second, and the processor time that the engine's process took for each token of the reply. */
interface Speeds {
  readonly prompt: number;
  readonly generation: number;
  /** Of the whole answer, prompt and reply. */
  readonly total: number;
  readonly cpuMicroseconds: number;
}

/**
 * Parley over HTTP against the bare loop on the same model. Both stay loaded and take turns on the same prompts; the
 * ratio is taken within each turn, where the machine was in the same mood for both, and the median of the ratios counts.
 */
export async function engineBench({ server, quick, threads: only, log }: BenchOptions): Promise<Row[]> {
  const model = await cachedModel('random-124m');
  const tiny = await cachedModel('random-tiny', tinyModel);
  const rounds = quick ? 3 : 9;
  const rows: Row[] = [];
  for (const threads of only === undefined ? new Set([1, defaultThreads()]) : [only]) {
    const measured = await measure(server, model, { threads, rounds, log });
    rows.push(...speedRows(measured, `${threads} ${threads === 1 ? 'thread' : 'threads'}`));
  }
  return [...rows, overheadRow(await measure(server, tiny, { threads: 1, rounds, log }))];
}

async function measure(server: string, model: string, course: Course): Promise<Measured> {
  const { threads } = course;
  const bare = await startBareLoop(await workerOptions(model, flags, threads));
  const parley = await startServer(server, { flags: ['--model', model, '--threads', String(threads), ...flags] });
  try {
    return await takeTurns(bare, parley, course);
  } finally {
    await parley.stop();
    await bare.stop();
  }
}

interface Course {
  readonly threads: number;
  readonly rounds: number;
  readonly log: (line: string) => void;
}

interface Measured {
  readonly streamed: Pair[];
  readonly whole: Pair[];
}

async function takeTurns(
  bare: BareProcess,
  parley: ServerProcess,
  { threads, rounds, log }: Course,
): Promise<Measured> {
  const measured: Measured = { streamed: [], whole: [] };
  // One more round than counted: the first one compiles code and fills caches on both sides.
  for (let round = 0; round <= rounds; round += 1) {
    for (const manner of ['streamed', 'whole'] as const) {
      const prompt = nonsense(round * 2 + Number(manner === 'whole'), promptWords);
      const measureRun = () => (manner === 'streamed' ? streamed(parley, prompt) : whole(parley, prompt));
      const pair = await inTurn(round % 2 === 0, () => bareRun(bare, prompt), measureRun);
      if (round > 0) measured[manner].push(pair);
    }
    log(`threads ${threads}, round ${round} of ${rounds}`);
  }
  return measured;
}

function speedRows(measured: Measured, what: string): Row[] {
  const ratio = (pairs: readonly Pair[], of: keyof Speeds) => median(pairs.map(([one, other]) => other[of] / one[of]));
  const goal = { atLeast: 0.97 } as const;
  const row = (name: string, value: number, unit = '') => ({ bench: 'engine', what: `${what}: ${name}`, value, unit });
  const bares = [...measured.streamed, ...measured.whole].map(([one]) => one);
  return [
    row('bare loop, prompt', median(bares.map(({ prompt }) => prompt)), 'tokens/s'),
    row('bare loop, generation', median(bares.map(({ generation }) => generation)), 'tokens/s'),
    { ...row('streamed, generation speed ÷ bare', ratio(measured.streamed, 'generation')), goal },
    { ...row('streamed, prompt speed ÷ bare', ratio(measured.streamed, 'prompt')), goal },
    { ...row('not streamed, whole answer ÷ bare', ratio(measured.whole, 'total')), goal },
  ];
}

/** Processor time is hardly moved by what else the machine does, so a difference of microseconds can be seen in it. */
function overheadRow({ streamed: pairs }: Measured): Row {
  const value = median(pairs.map(([bare, parley]) => parley.cpuMicroseconds - bare.cpuMicroseconds));
  return { bench: 'engine', what: 'worker, beyond the bare loop (tiny model)', value, unit: 'µs/token' };
}

type Pair = readonly [bare: Speeds, parley: Speeds];

async function inTurn(bareFirst: boolean, bare: () => Promise<Speeds>, parley: () => Promise<Speeds>): Promise<Pair> {
  if (bareFirst) return [await bare(), await parley()];
  const second = await parley();
  return [await bare(), second];
}

async function bareRun(bare: BareProcess, prompt: string): Promise<Speeds> {
  const before = cpuMicroseconds(bare.pid);
  const { promptTokens, promptMs, generationMs } = await bare.run(prompt, replyTokens);
  return speeds({ promptTokens, promptMs, generationMs, cpu: cpuMicroseconds(bare.pid) - before });
}

async function streamed({ port, worker }: ServerProcess, prompt: string): Promise<Speeds> {
  const [promptTokens, before] = [await countTokens(port, prompt), cpuMicroseconds(worker())];
  const startedAt = performance.now();
  const arrivals: number[] = [];
  await post(port, '/api/extra/generate/stream', requestBody(prompt), (piece) => {
    for (let events = occurrences(piece, '\n\n'); events > 0; events -= 1) arrivals.push(performance.now());
  });
  if (arrivals.length < replyTokens * 0.8) throw new Error(`only ${arrivals.length} events for ${replyTokens} tokens`);
  const firstAt = arrivals[0] as number;
  const cpu = cpuMicroseconds(worker()) - before;
  const generationMs = (arrivals.at(-1) as number) - firstAt;
  return speeds({ promptTokens, promptMs: firstAt - startedAt, generationMs, cpu });
}

async function whole({ port, worker }: ServerProcess, prompt: string): Promise<Speeds> {
  const [promptTokens, before] = [await countTokens(port, prompt), cpuMicroseconds(worker())];
  const startedAt = performance.now();
  const { text } = await post(port, '/api/v1/generate', requestBody(prompt));
  const tookMs = performance.now() - startedAt;
  const [result] = (JSON.parse(text) as { results: { completion_tokens: number }[] }).results;
  if (result?.completion_tokens !== replyTokens) throw new Error(`the answer is not complete: ${text}`);
  // How the time is shared between prompt and reply cannot be seen from outside; only the total is used.
  const half = { promptMs: tookMs / 2, generationMs: tookMs / 2 };
  return speeds({ promptTokens, ...half, cpu: cpuMicroseconds(worker()) - before });
}

function speeds({ promptTokens, promptMs, generationMs, cpu }: BareRun & { readonly cpu: number }): Speeds {
  return {
    prompt: (promptTokens * 1000) / promptMs,
    generation: ((replyTokens - 1) * 1000) / generationMs,
    total: ((promptTokens + replyTokens) * 1000) / (promptMs + generationMs),
    cpuMicroseconds: cpu / replyTokens,
  };
}

async function countTokens(port: number, prompt: string): Promise<number> {
  const { text } = await post(port, '/api/extra/tokencount', { prompt });
  return (JSON.parse(text) as { value: number }).value;
}

const requestBody = (prompt: string) => ({ prompt, max_length: replyTokens, temperature: 0, bypass_eos: true });
