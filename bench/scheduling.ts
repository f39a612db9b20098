import { heuristics, type Switches } from '../src/engines/llama/worker/scheduling.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { type Figures, machines, simulate } from './scheduling-simulation.ts';
import { traces } from './scheduling-traces.ts';

/** What each heuristic of scheduling gives: all traces with it and without it, simulated with the functions of the worker. */
export async function schedulingBench({ quick, log }: BenchOptions): Promise<Row[]> {
  const played = quick ? traces.filter(({ chats }) => chats.length < 12) : traces;
  return machines.flatMap((machine) => {
    const withAll = played.map((trace) => simulate(trace, machine));
    return (Object.keys(heuristics) as (keyof Switches)[]).map((name): Row => {
      const without = played.map((trace) => simulate(trace, machine, [name]));
      const ratios = (of: keyof Figures) => withAll.map((one, index) => one[of] / (without[index] as Figures)[of]);
      const shown = (of: keyof Figures) => {
        const all = ratios(of);
        return `${mean(all).toFixed(3)} (${Math.min(...all).toFixed(2)} to ${Math.max(...all).toFixed(2)})`;
      };
      const [speed, first, gap, prefilled] = (
        ['tokensPerSecond', 'lateFirstTokenMs', 'gapMs', 'prefilled'] as const
      ).map(shown);
      log(`${machine.name}, ${name}: speed ${speed}, first token ${first}, gaps ${gap}, tokens prefilled ${prefilled}`);
      const what = `${name}, ${machine.name}: speed with it ÷ without`;
      return { bench: 'scheduling', what, value: mean(ratios('tokensPerSecond')), unit: '' };
    });
  });
}

/** The geometric mean, as of ratios. */
function mean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
