import { expect, test } from 'vitest';
import { readStepSeconds, samplingShare } from './step-seconds.ts';

const metrics = (compute: number, sample: number, other: number) =>
  [
    '# HELP parley_step_seconds_total Time of the steps.',
    `parley_step_seconds_total{phase="compute"} ${compute}`,
    `parley_step_seconds_total{phase="sample"} ${sample}`,
    `parley_step_seconds_total{phase="other"} ${other}`,
    '',
  ].join('\n');

test('samplingShare: the part of the steps between two readings', () => {
  const [before, after] = [metrics(1, 1, 0), metrics(9, 2, 1)].map(readStepSeconds);
  expect(before && after && samplingShare(before, after)).toBeCloseTo(0.1);
});

test('samplingShare: nothing happened', () => {
  const idle = readStepSeconds('');
  expect(samplingShare(idle, idle)).toBe(0);
});
