import { request } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { post } from './http-client.ts';
import { nonsense } from './nonsense.ts';
import { type BenchOptions, benchModel } from './options.ts';
import { residentMegabytes } from './process-figures.ts';
import type { Row } from './report.ts';
import { type ServerProcess, startServer } from './server-process.ts';
import { bodyOf, type PlannedRequest, planRequest, seededRandom } from './soak-plan.ts';
import { grows, median } from './statistics.ts';

const clients = 6;
const slots = 4;
const growthAllowed = 0.15;
const restMs = 20_000;
const troubleWords = /error|fail|exception|unhandled|warning/i;

/** Many clients that ask, give up and vanish, in every dialect; and then a look at what they left behind. */
export async function soakBench(options: BenchOptions): Promise<Row[]> {
  const { log } = options;
  const lines: string[] = [];
  const seed = Date.now() % 1_000_000;
  const random = seededRandom(seed);
  const model = options.model === undefined ? 'models/parley-mini.gguf' : await benchModel(options);
  log(`seed ${seed}, ${options.minutes} minutes`);
  const shape = ['--model', model, '--usecpu', '--threads', String(options.threads ?? 1), '--contextsize', '2048'];
  const server = await startServer(options.server, {
    flags: [...shape, '--parallelrequests', String(slots), '--batchall'],
    onLine: (line) => {
      if (troubleWords.test(line)) lines.push(line);
    },
  });
  try {
    const course = await run(server, random, options);
    const left = await leftovers(server);
    return verdict({ ...course, ...left, lines }, log);
  } finally {
    await server.stop();
  }
}

interface Course {
  readonly done: number;
  readonly wrong: readonly string[];
  readonly serverMegabytes: readonly number[];
  readonly workerMegabytes: readonly number[];
}

async function run(server: ServerProcess, random: () => number, { minutes, log }: BenchOptions): Promise<Course> {
  const until = performance.now() + minutes * 60_000;
  const worker = server.worker();
  const memory = { serverMegabytes: [] as number[], workerMegabytes: [] as number[] };
  const wrong: string[] = [];
  let done = 0;
  const kinds: Record<PlannedRequest['ending']['type'], number> = { read: 0, disconnect: 0, abort: 0 };
  const client = async (name: number): Promise<void> => {
    for (let count = 0; performance.now() < until; count += 1) {
      const planned = planRequest(random);
      const problem = await perform(server.port, planned, `soak-${name}-${count}`);
      if (problem !== undefined) wrong.push(problem);
      done += 1;
      kinds[planned.ending.type] += 1;
    }
  };
  const sample = async (): Promise<void> => {
    for (let tick = 0; performance.now() < until; tick += 1) {
      memory.serverMegabytes.push(residentMegabytes(server.pid));
      memory.workerMegabytes.push(residentMegabytes(worker));
      if (tick % 60 === 59) log(`${done} requests, server ${memory.serverMegabytes.at(-1)?.toFixed(0)} MB`);
      await wait(1000);
    }
  };
  await Promise.all([sample(), ...Array.from({ length: clients }, (_, name) => client(name))]);
  if (server.worker() !== worker) wrong.push('the engine process is not the one that was there at the beginning');
  log(`${kinds.read} read to their end, ${kinds.disconnect} cut off, ${kinds.abort} aborted`);
  return { done, wrong, ...memory };
}

/** Resolves to what went wrong, if anything did. */
function perform(port: number, planned: PlannedRequest, genkey: string): Promise<string | undefined> {
  const { target, promptWords, ending } = planned;
  const number = Number(genkey.replace(/\D/g, ''));
  const body = JSON.stringify(bodyOf(planned, nonsense(number, promptWords), genkey));
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve) => {
    const early = ending.type === 'disconnect';
    let text = '';
    const outgoing = request({ host: '127.0.0.1', port, path: target.path, method: 'POST', headers, agent: false });
    const timer =
      ending.type === 'read'
        ? undefined
        : setTimeout(() => {
            if (ending.type === 'disconnect') outgoing.destroy();
            else void post(port, '/api/extra/abort', { genkey }).catch(() => undefined);
          }, ending.afterMs);
    const over = (problem: string | undefined): void => {
      clearTimeout(timer);
      resolve(problem && `${target.name}, ${ending.type}: ${problem}`);
    };
    outgoing.on('error', (error) => over(early ? undefined : error.message));
    outgoing.on('response', (response) => {
      response.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
      });
      response.on('error', (error) => over(early ? undefined : error.message));
      response.on('end', () => {
        const bad = response.statusCode !== 200 || target.countEvents(text) === 0 || /"error": ?\{/.test(text);
        over(bad ? `${response.statusCode} ${text.slice(0, 200)}` : undefined);
      });
    });
    outgoing.end(body);
  });
}

interface Leftovers {
  readonly idle: boolean;
  readonly busySlots: number;
}

/** Work that still runs after all clients have left; an abort may take until the end of a step. */
async function leftovers({ port }: ServerProcess): Promise<Leftovers> {
  const until = performance.now() + restMs;
  for (;;) {
    const performed = (await read(port, '/api/extra/perf')) as { queue: number; idle: number };
    const slotList = (await read(port, '/slots')) as { is_processing: boolean }[];
    const busySlots = slotList.filter((slot) => slot.is_processing).length;
    const idle = performed.idle === 1 && performed.queue === 0;
    if ((idle && busySlots === 0) || performance.now() > until) return { idle, busySlots };
    await wait(100);
  }
}

async function read(port: number, path: string): Promise<unknown> {
  return (await fetch(`http://127.0.0.1:${port}${path}`)).json();
}

function verdict(seen: Course & Leftovers & { readonly lines: readonly string[] }, log: (line: string) => void): Row[] {
  const { done, wrong, idle, busySlots, lines } = seen;
  const steady = ![seen.serverMegabytes, seen.workerMegabytes].some((values) => grows(values, growthAllowed));
  for (const line of [...wrong.slice(0, 10), ...lines.slice(0, 10)]) log(`! ${line}`);
  const sound = wrong.length === 0 && idle && busySlots === 0 && lines.length === 0 && steady;
  log(`verdict: ${sound ? 'sound' : 'NOT SOUND'}`);
  const row = (what: string, value: number, unit: string): Row => ({ bench: 'soak', what, value, unit });
  const none = { goal: { atMost: 0 } };
  const memory = (what: string, values: readonly number[]): Row[] => {
    const third = Math.max(1, Math.floor(values.length / 3));
    const parts = [values.slice(0, third), values.slice(third, 2 * third), values.slice(-third)] as const;
    return ['beginning', 'middle', 'end'].flatMap((when, index) => {
      const part = parts[index] ?? [];
      return part.length > 0 ? [row(`${what}, ${when}`, median(part), 'MB')] : [];
    });
  };
  return [
    row('requests', done, ''),
    { ...row('answers that were wrong', wrong.length, ''), ...none },
    { ...row('lines about trouble', lines.length, ''), ...none },
    { ...row('slots that were not given back', busySlots, ''), ...none },
    { ...row('still busy or waiting at the end', Number(!idle), ''), ...none },
    ...memory('memory of the server', seen.serverMegabytes),
    ...memory('memory of the worker', seen.workerMegabytes),
    { ...row('memory still growing', Number(!steady), ''), ...none },
  ];
}
