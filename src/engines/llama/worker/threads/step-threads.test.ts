import { expect, test } from 'vitest';
import type { FromWorker } from '../../messages.ts';
import type { Loaded } from '../load/model.ts';
import type { ContentionWatch } from './contention.ts';
import { StepThreads, stepThreads } from './step-threads.ts';

function world(threads = 2, contention?: Pick<ContentionWatch, 'start'>) {
  const sent: FromWorker[] = [];
  const used: number[] = [];
  const machine = { now: 0, neighbours: 0 };
  const parts = { decode: threads, prefill: threads, now: () => machine.now, contention };
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

test('StepThreads: reports nothing on an idle machine', () => {
  const { run, sent } = world();
  run(60);
  expect(sent).toEqual([]);
});

test('StepThreads: sets the number of threads only when it changes', () => {
  const { run, used } = world();
  run(10);
  expect(used.filter((count, index) => count === used[index - 1])).toEqual([]);
});

test('StepThreads: logs a lasting change and its end, once each', () => {
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

test('StepThreads: does not log a short change', () => {
  const { run, machine, notes, counts } = world();
  run(10);
  machine.neighbours = 1;
  run(3.1);
  machine.neighbours = 0;
  run(10);
  expect(counts().length).toBeGreaterThan(0);
  expect(notes()).toEqual([]);
});

test('StepThreads: sends both numbers and the count of changes to the server', () => {
  const { run, machine, counts } = world();
  machine.neighbours = 1;
  run(20);
  expect(counts()[0]).toMatchObject({ type: 'threads', decode: 1, prefill: 2, changes: 1 });
  run(20, true);
  expect(counts().at(-1)).toMatchObject({ decode: 1, prefill: 1 });
});

test('StepThreads: ignores the time of an aborted step', () => {
  const { steps, machine, used } = world();
  for (let step = 0; step < 100; step += 1) {
    steps.before(false, 16);
    machine.now += step % 10 === 5 ? 1000 : 30;
    steps.after(step % 10 === 5 ? 'aborted' : 'ok');
  }
  expect(used.at(-1)).toBe(2);
});

test('stepThreads: undefined with all layers on a GPU, a fixed number of threads or a single thread', () => {
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

/** A machine that reports waiting times: another program needs a core while a step with two threads runs. */
function watched() {
  const machine = { busy: false, aborts: 0 };
  const {
    steps,
    machine: time,
    used,
  } = world(2, {
    start: (found) => {
      if (machine.busy) found(1);
      return () => {};
    },
  });
  const step = async (isPrefill: boolean) => {
    steps.before(isPrefill, 100);
    const { needsWatch } = steps;
    const aborted = machine.aborts;
    const result = await steps.watch({
      decode: async () => (machine.aborts > aborted ? 'aborted' : 'ok'),
      abortDecode: () => {
        machine.aborts += 1;
      },
    });
    time.now += machine.aborts > aborted ? 40 : 100 / (used.at(-1) as number);
    steps.after(machine.aborts > aborted ? 'aborted' : result);
    return { threads: used.at(-1), needsWatch, wasAborted: machine.aborts > aborted };
  };
  return { machine, time, step };
}

test('StepThreads: aborts a step whose threads wait for cores, and continues with as many threads as there are free cores', async () => {
  const { machine, step } = watched();
  machine.busy = true;
  expect(await step(true)).toMatchObject({ threads: 2, wasAborted: true });
  expect(await step(true)).toMatchObject({ threads: 1, wasAborted: false });
  expect(await step(false)).toMatchObject({ threads: 1, wasAborted: false });
});

test('StepThreads: tries more threads again later, in watched steps', async () => {
  const { machine, step } = watched();
  machine.busy = true;
  for (let count = 0; count < 10; count += 1) await step(true);
  machine.busy = false;
  const later = [];
  for (let count = 0; count < 200; count += 1) later.push(await step(true));
  expect(later.find(({ threads }) => threads === 2)).toMatchObject({ needsWatch: true });
  expect(later.at(-1)).toMatchObject({ threads: 2, needsWatch: false });
});

test('StepThreads: watches the first step after a pause', async () => {
  const { time, step } = watched();
  expect((await step(true)).needsWatch).toBe(true);
  expect((await step(true)).needsWatch).toBe(false);
  time.now += 3000;
  expect((await step(true)).needsWatch).toBe(true);
  expect((await step(false)).needsWatch).toBe(false);
});

test('StepThreads: watches twelve steps after a slow one', () => {
  const { steps, machine } = world(2, { start: () => () => {} });
  const unsure = [30, 30, 30, 100, ...Array(14).fill(30)].map((took) => {
    steps.before(false, 1);
    machine.now += took;
    const { needsWatch } = steps;
    steps.after('ok');
    return needsWatch;
  });
  expect(unsure).toEqual([true, false, false, false, ...Array(12).fill(true), false, false]);
});

test('StepThreads: watches no step if the system does not report waiting times', () => {
  const { steps } = world();
  steps.before(true, 100);
  expect(steps.needsWatch).toBe(false);
});
