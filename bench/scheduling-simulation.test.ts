import { expect, test } from 'vitest';
import { heuristics, threadHeuristics } from '../src/engines/llama/worker/scheduling.ts';
import figures from './figures.json' with { type: 'json' };
import { type Machine, simulate, type Trace } from './scheduling-simulation.ts';
import { simulateThreads } from './thread-simulation.ts';

const machine: Machine = {
  name: 'even',
  onGpu: false,
  passMs: [
    [1, 10],
    [11, 20],
  ],
  cellsMs: 0,
};
const chat = (added: number, reply: number, predictable = 0) => ({
  system: 0,
  predictable,
  turns: [{ afterMs: 0, added, reply }],
});
const trace = (changes: Partial<Trace>): Trace => ({ name: 'test', slots: 4, draft: 0, chats: [], ...changes });

test('simulate: one request takes a pass for its prompt and one for each further token', () => {
  const figures = simulate(trace({ chats: [chat(21, 11)] }), machine);
  expect(figures).toMatchObject({ firstTokenMs: 30, prefilled: 21 });
  expect(figures.gapMs).toBeCloseTo(10);
  expect(figures.tokensPerSecond).toBeCloseTo((11 * 1000) / (30 + 10 * 10));
});

test('simulate: the same figures each time', () => {
  const drafting = trace({ draft: 8, chats: [chat(30, 200, 0.5), chat(40, 200, 0.2)] });
  expect(simulate(drafting, machine)).toEqual(simulate(drafting, machine));
});

test('simulate: the next turn of a chat prefills only what is new', () => {
  const turns = [100, 7].map((added) => ({ afterMs: 50, added, reply: 5 }));
  // The last token of a reply is not computed.
  expect(simulate(trace({ chats: [{ system: 0, predictable: 0, turns }] }), machine).prefilled).toBe(108);
});

test('simulate: without pauses, rejected drafts cost time', () => {
  const rejected = trace({ draft: 8, chats: [chat(30, 300)] });
  const [paused, eager] = [simulate(rejected, machine), simulate(rejected, machine, ['draftPauses'])];
  expect(paused.tokensPerSecond).toBeGreaterThan(eager.tokensPerSecond * 1.05);
});

test('simulate: without short chunks, a long prompt stops a stream for a whole batch', () => {
  const mixed = trace({
    chats: [chat(10, 60), { ...chat(2000, 1), turns: [{ afterMs: 100, added: 2000, reply: 1 }] }],
  });
  const [short, whole] = [simulate(mixed, machine), simulate(mixed, machine, ['shortChunks'])];
  expect(short.gapMs).toBeLessThan(whole.gapMs / 2);
});

test('simulate: a recorded trace prefills what no earlier request had, with the reply before each turn', () => {
  const recorded = [
    { afterMs: 0, prompt: [100], reply: 10 },
    { after: 0, afterMs: 5, prompt: [[0, 0, 110] as const, 7], reply: 2 },
  ];
  // The last token of a reply is not computed.
  expect(simulate(trace({ recorded }), machine).prefilled).toBe(108);
});

test('heuristics: each switch has a row in the tables of docs/figures.md', () => {
  const rows = [...figures['scheduling-heuristics'].rows, ...figures['thread-heuristics'].rows].map(([name]) => name);
  for (const name of Object.keys({ ...heuristics, ...threadHeuristics })) expect(rows).toContain(`\`${name}\``);
});

test('simulateThreads: without trials from time to time, a core that is busy from the start halts all threads', () => {
  const busy = { name: 'busy', cores: 2, busy: () => 1 };
  expect(simulateThreads(busy, true)).toBeGreaterThan(10 * simulateThreads(busy, true, ['regularTrials']));
});
