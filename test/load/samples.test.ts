import { expect, test } from 'vitest';
import { growthReport, type Sample } from './samples.ts';

/** Ten minutes, with a memory of the server that is computed from the minute. */
function run(memory: (minute: number) => number, minutes = 10): Sample[] {
  const others = { serverMegabytes: 150, workerMegabytes: 300, descriptors: 40, processes: 3, loopDelay: 1 };
  return Array.from({ length: minutes * 60 }, (_, second) => ({
    ...others,
    minutes: second / 60,
    usedMegabytes: memory(second / 60),
  }));
}

test('growthReport: memory that grows on and on is a breach', () => {
  expect(growthReport(run((minute) => 100 + 5 * minute)).breaches).toEqual([
    'memory in use by the server, MB: grows by 5.00 a minute',
  ]);
});

test('growthReport: memory that grows in the first half only, or goes up and down, is none', () => {
  expect(growthReport(run((minute) => 100 + 50 * Math.min(minute, 4))).breaches).toEqual([]);
  expect(growthReport(run((minute) => 100 + 30 * Math.sin(minute * 20))).breaches).toEqual([]);
});

test('growthReport: judges no short run', () => {
  expect(growthReport(run((minute) => 100 + 50 * minute, 1)).breaches).toEqual([]);
});
