import {
  afterDraft,
  type Batch,
  type BegunStep,
  type DraftState,
  decide,
  firstDraft,
  nextChunk,
} from '../src/engines/llama/worker/decide.ts';
import { chooseSlot } from '../src/engines/llama/worker/memory/slot-choice.ts';
import { batching, drafts, heuristics, type Switches } from '../src/engines/llama/worker/scheduling.ts';
import { type RecordedRequest, recordedTexts } from './recorded-trace.ts';
import { seededRandom } from './seeded-random.ts';
import { percentile } from './statistics.ts';

/** What a step costs on a machine. */
export interface Machine {
  readonly name: string;
  readonly onGpu: boolean;
  /** Milliseconds of one pass over the weights by its rows; in between and beyond on the straight line. */
  readonly passMs: readonly (readonly [rows: number, ms: number])[];
  /** Milliseconds of attention to 256 cells, for each row of a pass. */
  readonly cellsMs: number;
}

/**
 * From the measured steps and speeds of docs/figures.md. arm64 is a Neoverse-N1 and x64 a Sapphire Rapids without AMX, both with two
 * cores and 124 M weights; the GPU is an H200 with 4.7 B weights. Attention was not measured.
 */
export const machines: readonly Machine[] = [
  {
    name: 'arm64',
    onGpu: false,
    passMs: [
      [1, 4.4],
      [2, 7.2],
      [3, 10.2],
      [4, 7.8],
      [5, 11],
      [6, 13.3],
      [7, 15.9],
      [8, 14.8],
      [16, 27.5],
    ],
    cellsMs: 0.05,
  },
  {
    name: 'x64',
    onGpu: false,
    passMs: [
      [1, 8.5],
      [2, 13.5],
      [4, 19.7],
      [8, 32.1],
      [16, 57.1],
      [512, 500],
    ],
    cellsMs: 0.05,
  },
  {
    name: 'GPU',
    onGpu: true,
    passMs: [
      [1, 3.06],
      [2, 3.59],
      [4, 4.28],
      [8, 5.93],
      [16, 7.33],
      [32, 10.1],
      [512, 33],
    ],
    cellsMs: 0.001,
  },
];

export interface Turn {
  /** After the end of the reply before, or from the start. */
  readonly afterMs: number;
  /** New tokens at the end of the prompt, which begins with all of the chat so far. */
  readonly added: number;
  /** So many tokens after the system prompt are cut. */
  readonly cut?: number;
  /** It is a side task: its prompt has the text of that chat after its own system prompt. */
  readonly quotes?: number;
  readonly reply: number;
}

/** Turns of one chat, each after the reply before. `predictable` is the share of tokens that a draft gets right. */
export interface Chat {
  readonly system: number;
  readonly predictable: number;
  readonly turns: readonly Turn[];
}

export interface Trace {
  readonly name: string;
  readonly slots: number;
  /** Tokens of a draft; 0 for none. */
  readonly draft: number;
  readonly chats: readonly Chat[];
  readonly recorded?: readonly RecordedRequest[];
}

export interface Figures {
  readonly tokensPerSecond: number;
  readonly firstTokenMs: number;
  readonly lateFirstTokenMs: number;
  /** 99 of 100 gaps between tokens are shorter. */
  readonly gapMs: number;
  /** Prompt tokens that were computed. */
  readonly prefilled: number;
}

const capacity = 512;
const contextSize = 16_384;

interface SimulatedSlot {
  readonly sequence: number;
  readonly capacity: number;
  computed: number;
  cached: Int32Array;
  promptLength: number;
  busy: boolean;
  usedAt: number;
  reach(index: number): number;
}

interface Request {
  readonly askedAt: number;
  readonly prompt: Int32Array;
  /** The prompt, which the tokens of the reply are appended to. */
  readonly text: number[];
  /** The tokens of the reply, if they are known. */
  readonly replyTokens?: readonly number[];
  readonly reply: number;
  readonly predictable: number;
  /** The reply has ended. */
  readonly ended: () => void;
}

class Simulated {
  remaining: number;
  written = 0;
  lastAt: number;
  draft: DraftState | undefined;
  readonly prefillsAlone = false;

  constructor(
    readonly slot: SimulatedSlot,
    readonly request: Request,
    draft: DraftState | undefined,
  ) {
    this.remaining = request.prompt.length - slot.computed;
    this.lastAt = request.askedAt;
    this.draft = draft;
  }

  get inPrefill(): boolean {
    return this.remaining > 1;
  }
}

/** Plays a trace with the functions of the worker, in its own time. The same trace gives the same figures. */
export function simulate(trace: Trace, machine: Machine, off: readonly (keyof Switches)[] = []): Figures {
  const on = { ...heuristics, ...Object.fromEntries(off.map((name) => [name, false])) } as Switches;
  const random = seededRandom(7);
  const slots = Array.from(
    { length: trace.slots },
    (_, sequence): SimulatedSlot => ({
      sequence,
      capacity: contextSize,
      computed: 0,
      cached: new Int32Array(0),
      promptLength: 0,
      busy: false,
      usedAt: 0,
      reach: (index) => index,
    }),
  );
  const texts = trace.chats.map(({ system }) => Array.from({ length: system }, (_, index) => index));
  const arrived: Request[] = [];
  const running: Simulated[] = [];
  const firstTokens: number[] = [];
  const gaps: number[] = [];
  let [now, busyMs, tokens, prefilled, prefills, rejected, nextToken] = [0, 0, 0, 0, 0, 0, 1_000_000];
  let chunk: number = batching.firstChunk;

  const add = (request: Omit<Request, 'prompt'>) => {
    arrived.push({ ...request, prompt: Int32Array.from(request.text) });
    arrived.sort((a, b) => a.askedAt - b.askedAt);
  };
  const ask = (chat: number, turn: number) => {
    const { system, turns, predictable } = trace.chats[chat] as Chat;
    const { added, afterMs, cut = 0, quotes, reply } = turns[turn] as Turn;
    const text = [...(texts[chat] as number[])];
    text.splice(system, cut);
    if (quotes !== undefined) text.push(...(texts[quotes] as number[]).slice(trace.chats[quotes]?.system));
    for (let index = 0; index < added; index += 1) text.push(nextToken++);
    texts[chat] = text;
    const ended = () => turns[turn + 1] && ask(chat, turn + 1);
    add({ askedAt: now + afterMs, text, reply, predictable, ended });
  };
  const { recorded = [] } = trace;
  const waiting = new Map(recordedTexts(recorded).entries());
  const over = new Set<number>();
  const askRecorded = () => {
    for (const [index, { prompt, reply: replyTokens, waitsFor }] of waiting) {
      if (!waitsFor.every((other) => over.has(other))) continue;
      waiting.delete(index);
      const { afterMs, reply } = recorded[index] as RecordedRequest;
      const ended = () => {
        over.add(index);
        askRecorded();
      };
      add({ askedAt: now + afterMs, text: [...prompt], replyTokens, reply, predictable: 0, ended });
    }
  };
  const admit = () => {
    while (arrived[0] && arrived[0].askedAt <= now) {
      const [request] = arrived as [Request];
      const choice = chooseSlot(slots, { prompt: request.prompt, canCopy: true, isControl: () => false }, on);
      if (!choice) return;
      arrived.shift();
      const { slot, reusable } = choice;
      slot.computed = Math.min(reusable, request.prompt.length - 1);
      slot.promptLength = request.prompt.length;
      slot.cached = request.prompt.subarray(0, slot.computed);
      slot.busy = true;
      slot.usedAt = now;
      prefilled += request.prompt.length - slot.computed;
      const blockRows = drafts.rowsPerKernel[machine.name === 'arm64' ? 'arm64' : 'other'];
      const draft = trace.draft > 0 ? firstDraft(trace.draft, blockRows, rejected, on) : undefined;
      running.push(new Simulated(slot, request, draft));
    }
  };
  const write = (one: Simulated, count: number) => {
    const { text, reply, replyTokens } = one.request;
    for (let index = 0; index < count && one.written < reply; index += 1) {
      text.push(replyTokens?.[one.written] ?? nextToken++);
      one.written += 1;
      tokens += 1;
    }
    if (one.written <= count) firstTokens.push(now - one.request.askedAt);
    else gaps.push((now - one.lastAt) / count);
    one.lastAt = now;
    one.remaining = 1;
    if (one.written < reply) return;
    const { slot, request } = one;
    slot.cached = Int32Array.from(text.slice(0, -1));
    slot.computed = slot.cached.length;
    slot.busy = false;
    slot.usedAt = now;
    running.splice(running.indexOf(one), 1);
    request.ended();
  };
  const spend = (milliseconds: number) => {
    now += milliseconds;
    busyMs += milliseconds;
  };
  const computeDecode = ({ rows, padding }: Batch<Simulated>) => {
    const drafted = rows.map(({ generation, draft }) => {
      const { predictable } = generation.request;
      let accepted = 0;
      while (accepted < draft && random() < predictable) accepted += 1;
      return { generation, draft, accepted };
    });
    const alone = rows.length === 1;
    const firstPass = [...rows.map(({ generation }) => generation.slot), ...padding];
    const extra = alone ? (drafted[0]?.draft ?? 0) : 0;
    spend(passesMs(machine, firstPass, 1 + extra));
    if (!alone)
      for (const { generation, draft } of drafted) if (draft > 0) spend(passesMs(machine, [generation.slot], draft));
    for (const { generation, draft, accepted } of drafted) {
      if (generation.draft) {
        generation.draft = afterDraft(generation.draft, rows.length, accepted, draft - accepted);
        if (draft > 0) rejected = generation.draft.rejectedInARow;
      }
      generation.slot.computed += 1 + accepted;
      write(generation, 1 + accepted);
    }
  };
  const computePrefill = ({ rows }: Batch<Simulated>, busy: boolean) => {
    const startedAt = now;
    let size = 0;
    for (const { generation, limit } of rows) {
      const count = Math.min(limit, generation.remaining);
      size += count;
      generation.slot.computed += count;
      generation.remaining -= count;
    }
    const longest = Math.max(...rows.map(({ generation }) => generation.slot.computed));
    spend(passMs(machine, size) + size * Math.ceil(longest / 256) * machine.cellsMs);
    for (const { generation } of rows) if (generation.remaining === 0) write(generation, 1);
    if (busy && size >= chunk) chunk = nextChunk(chunk, now - startedAt, capacity);
  };

  for (const index of trace.chats.keys()) ask(index, 0);
  askRecorded();
  while (arrived.length + running.length > 0) {
    admit();
    if (running.length === 0) {
      now = Math.max(now, arrived[0]?.askedAt ?? now);
      continue;
    }
    const state = () => ({
      running,
      slots,
      batchCapacity: capacity,
      isolated: false,
      onGpu: machine.onGpu,
      chunk,
      prefills,
    });
    const { decode } = decide(state(), on);
    const busy = decode.length > 0;
    for (const batch of decode) computeDecode(batch);
    const startedAt = now;
    for (let begun: BegunStep = { busy, unfinished: false, prefillMs: 0 }; ; ) {
      const { prefill } = decide({ ...state(), begun }, on);
      const prompt = prefill?.rows[0]?.generation;
      if (!prompt) break;
      prefills += 1;
      computePrefill(prefill, busy);
      begun = { busy, unfinished: prompt.inPrefill, prefillMs: now - startedAt };
    }
  }
  return {
    tokensPerSecond: (tokens * 1000) / busyMs,
    firstTokenMs: percentile(firstTokens, 0.5),
    lateFirstTokenMs: percentile(firstTokens, 0.95),
    gapMs: percentile(gaps, 0.99),
    prefilled,
  };
}

/** Only consecutive sequences share a pass, whose rows all attend to as many cells as the longest has. */
function passesMs(machine: Machine, slots: readonly SimulatedSlot[], rowsEach: number): number {
  let [sum, from] = [0, 0];
  const ascending = [...slots].sort((a, b) => a.sequence - b.sequence);
  for (const [index, slot] of ascending.entries()) {
    if (ascending[index + 1]?.sequence === slot.sequence + 1) continue;
    const run = ascending.slice(from, index + 1);
    const rows = run.length * rowsEach;
    const cells = Math.ceil(Math.max(...run.map(({ computed }) => computed), 1) / 256);
    sum += passMs(machine, rows) + rows * cells * machine.cellsMs;
    from = index + 1;
  }
  return sum;
}

function passMs({ passMs: points }: Machine, rows: number): number {
  const above = points.findIndex(([known]) => known >= rows);
  const end = above < 0 ? points.length - 1 : Math.max(1, above);
  const [[x0, y0], [x1, y1]] = [points[end - 1], points[end]] as [readonly [number, number], readonly [number, number]];
  return y0 + ((rows - x0) * (y1 - y0)) / (x1 - x0);
}
