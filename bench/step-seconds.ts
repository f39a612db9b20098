import type { Contender } from './contender.ts';

/** Where the time of Parley's steps went so far, by its own word, in seconds. */
export type StepSeconds = Readonly<Record<'compute' | 'sample' | 'other', number>>;

/** The worker tells its times once a second, and when nothing is left to do. Undefined for another server. */
export async function stepSeconds({ name, host, port }: Pick<Contender, 'name' | 'host' | 'port'>) {
  if (name !== 'Parley') return undefined;
  return readStepSeconds(await (await fetch(`http://${host}:${port}/metrics`)).text());
}

export function readStepSeconds(metrics: string): StepSeconds {
  const value = (phase: string): number => {
    const line = metrics.split('\n').find((one) => one.startsWith(`parley_step_seconds_total{phase="${phase}"}`));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  return { compute: value('compute'), sample: value('sample'), other: value('other') };
}

/** What part of its steps a server spent on sampling between two moments. */
export function samplingShare(before: StepSeconds, after: StepSeconds): number {
  const total = (['compute', 'sample', 'other'] as const).reduce((sum, phase) => sum + after[phase] - before[phase], 0);
  return total > 0 ? (after.sample - before.sample) / total : 0;
}
