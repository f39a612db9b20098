import { expect, test } from 'vitest';
import type { FromWorker } from '../messages.ts';
import type { Loaded } from './load/model.ts';
import { StepThreads, stepThreads } from './step-threads.ts';

function world(threads = 2) {
  const sent: FromWorker[] = [];
  const used: number[] = [];
  const machine = { now: 0, neighbours: 0 };
  const parts = { decode: threads, prefill: threads, now: () => machine.now };
  const steps = new StepThreads({
    ...parts,
    send: (message) => sent.push(message),
    use: (count) => used.push(count),
  });
  const run = (seconds: number, isPrefill = false) => {
    for (const until = machine.now + seconds * 1000; machine.now < until; ) {
      steps.before(isPrefill, 16);
      const count = used.at(-1) as number;
      machine.now += count > 1 && machine.neighbours > 0 ? 1000 : 60 / count;
      steps.after('ok');
    }
  };
  const notes = () => sent.flatMap((message) => (message.type === 'note' ? [message.text] : []));
  const counts = () => sent.filter(({ type }) => type === 'threads');
  return { steps, machine, run, used, sent, notes, counts };
}

test('StepThreads: on an idle machine nothing is reported', () => {
  const { run, sent } = world();
  run(60);
  expect(sent).toEqual([]);
});

test('StepThreads: the library is told a number only when it changes', () => {
  const { run, used } = world();
  run(10);
  expect(used.filter((count, index) => count === used[index - 1])).toEqual([]);
});

test('StepThreads: a lasting change is told once on the console, and its end', () => {
  const { run, machine, notes } = world();
  machine.neighbours = 1;
  run(90);
  expect(notes()).toEqual([
    'Replies are computed with 1 of 2 threads, because other programs keep the processor busy.',
  ]);
  machine.neighbours = 0;
  run(90);
  expect(notes()[1]).toBe('Replies are computed with all 2 threads again.');
});

test('StepThreads: a short change is not told on the console', () => {
  const { run, machine, notes, counts } = world();
  run(10);
  machine.neighbours = 1;
  run(0.1);
  machine.neighbours = 0;
  run(10);
  expect(counts().length).toBeGreaterThan(0);
  expect(notes()).toEqual([]);
});

test('StepThreads: the server is told both numbers, and all changes', () => {
  const { run, machine, counts } = world();
  machine.neighbours = 1;
  run(20);
  expect(counts()[0]).toMatchObject({ type: 'threads', decode: 1, prefill: 2, changes: 1 });
  run(20, true);
  expect(counts().at(-1)).toMatchObject({ decode: 1, prefill: 1 });
});

test('StepThreads: an aborted step is not compared with others', () => {
  const { steps, machine, used } = world();
  for (let step = 0; step < 100; step += 1) {
    steps.before(false, 16);
    machine.now += step % 10 === 5 ? 1000 : 30;
    steps.after(step % 10 === 5 ? 'aborted' : 'ok');
  }
  expect(used.at(-1)).toBe(2);
});

test('stepThreads: only where threads compute, their number may change, and there are several', () => {
  const threadpools = { use: () => {}, attach: () => {} };
  const made = (options: object, gpuLayers = 0) =>
    stepThreads(
      {
        options: { threads: 2, batchThreads: 2, fixedThreads: false, tensorOverrides: [], ...options },
        info: { layers: 12, gpuLayers },
        threadpools,
      } as unknown as Loaded,
      () => {},
      () => 0,
    );
  expect(made({})).toBeDefined();
  expect(made({}, 12)).toBeDefined();
  expect(made({}, 13)).toBeUndefined();
  expect(made({ tensorOverrides: [{ pattern: 'ffn', buffer: 'CPU' }] }, 13)).toBeDefined();
  expect(made({ fixedThreads: true })).toBeUndefined();
  expect(made({ threads: 1, batchThreads: 1 })).toBeUndefined();
});
