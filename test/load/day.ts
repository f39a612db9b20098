import { nonsense } from '../../bench/nonsense.ts';
import { seededRandom } from '../../bench/seeded-random.ts';
import { type SendTask, taskKinds } from '../../bench/task-kinds.ts';
import { bodyOf, type PlannedTask, planDay } from './plan.ts';

/** One grey pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==',
  'base64',
);

/** Tasks that need more than a plain server: a tool server (`get_weather`), and models to swap (`options`). */
function furtherKinds(options: readonly string[]): Readonly<Record<string, SendTask>> {
  let swaps = 0;
  return {
    upload: async (base, signal) => {
      const form = new FormData();
      form.append('image', new Blob([png]), 'pixel.png');
      form.append('overwrite', 'true');
      await whole(await fetch(`${base}/upload/image`, { method: 'POST', body: form, signal }), /"name":/);
    },
    'MCP call': async (base, signal) => {
      const params = { name: 'get_weather', arguments: { city: 'Rome' } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
      await whole(await fetch(`${base}/mcp`, { method: 'POST', body, signal }), /sunny/);
    },
    swap: async (base, signal) => {
      swaps += 1;
      const body = JSON.stringify({ filename: options[swaps % options.length] });
      await whole(await fetch(`${base}/api/admin/reload_config`, { method: 'POST', body, signal }), /"success": ?true/);
    },
  };
}

async function whole(reply: Response, expected: RegExp): Promise<void> {
  const text = await reply.text();
  if (reply.status !== 200 || !expected.test(text)) {
    throw new Error(`${new URL(reply.url).pathname} ${reply.status} ${text.slice(0, 200)}`);
  }
}

/** A text in one dialect. Rejects if the answer is not that of a sound server. */
async function text(base: string, planned: PlannedTask, genkey: string, signal: AbortSignal): Promise<void> {
  const { target, tokens, promptWords, ending } = planned;
  if (!target) return;
  const prompt = nonsense(Number(genkey.replace(/\D/g, '')), promptWords);
  const body = JSON.stringify(bodyOf(target, tokens, prompt, genkey));
  const abort = (): void => {
    const stop = JSON.stringify({ genkey });
    fetch(`${base}/api/extra/abort`, { method: 'POST', body: stop }).then(
      (reply) => reply.arrayBuffer(),
      () => undefined,
    );
  };
  const timer = ending.type === 'abort' ? setTimeout(abort, ending.afterMs) : undefined;
  try {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${base}${target.path}`, { method: 'POST', headers, body, signal });
    const answer = await reply.text();
    const sound = reply.status === 200 && target.countEvents(answer) > 0 && !/"error": ?[{"]/.test(answer);
    if (!sound) throw new Error(`${reply.status} ${answer.slice(0, 200)}`);
  } finally {
    clearTimeout(timer);
  }
}

/** Failures that are told at once; the result has all of them. */
const mostLines = 20;

interface DayOptions {
  readonly base: string;
  readonly seed: number;
  readonly tasksOfEach: number;
  readonly clients: number;
  readonly minutes: number;
  /** Model files and configs that `/api/admin/reload_config` knows. */
  readonly swapOptions: readonly string[];
  readonly log: (line: string) => void;
}

export interface DayResult {
  /** How many tasks of each kind were read, and how many were cut off or aborted. */
  readonly done: ReadonlyMap<string, { read: number; ended: number }>;
  readonly wrong: readonly string[];
  /** Whether all planned tasks were done in time. */
  readonly complete: boolean;
}

/** Clients that work through all kinds of tasks in random order, and cut off or abort some of them at a random moment. */
export async function dayOfWork(options: DayOptions): Promise<DayResult> {
  const { base, seed, tasksOfEach, clients, minutes, log } = options;
  const senders = { ...taskKinds, ...furtherKinds(options.swapOptions) };
  const plan = planDay(Object.keys(senders), tasksOfEach, seededRandom(seed));
  const total = plan.length;
  const until = performance.now() + minutes * 60_000;
  const done = new Map<string, { read: number; ended: number }>();
  const wrong: string[] = [];

  function failed(line: string): void {
    wrong.push(line);
    if (wrong.length <= mostLines) log(`! ${line}`);
  }

  async function perform(planned: PlannedTask, number: number): Promise<void> {
    const { kind, ending } = planned;
    const stop = new AbortController();
    const cut = ending.type === 'disconnect' ? setTimeout(() => stop.abort(), ending.afterMs) : undefined;
    const send = senders[kind as keyof typeof senders];
    try {
      await (planned.target ? text(base, planned, `day-${number}`, stop.signal) : send?.(base, stop.signal));
    } catch (error) {
      if (!stop.signal.aborted) failed(`${kind}, ${ending.type}: ${(error as Error).message}`);
    } finally {
      clearTimeout(cut);
    }
    const count = done.get(kind) ?? { read: 0, ended: 0 };
    done.set(kind, count);
    if (ending.type === 'read') count.read += 1;
    else count.ended += 1;
  }

  async function client(): Promise<void> {
    for (let next = plan.pop(); next && performance.now() < until; next = plan.pop()) {
      const number = total - plan.length;
      await perform(next, number);
      if (number % 500 === 0) log(`${number} of ${total} tasks, ${wrong.length} wrong`);
    }
  }

  await Promise.all(Array.from({ length: clients }, client));
  return { done, wrong, complete: plan.length === 0 };
}
