import {
  heuristics,
  type Switches,
  type ThreadSwitches,
  threadHeuristics,
} from '../src/engines/llama/worker/scheduling.ts';
import type { BenchOptions } from './options.ts';
import type { Row } from './report.ts';
import { type Figures, machines, simulate } from './scheduling-simulation.ts';
import { traces } from './scheduling-traces.ts';
import { loads, simulateThreads } from './thread-simulation.ts';

/** What each heuristic of scheduling gives: all traces and loads with it and without it, simulated with the functions of the worker. */
export async function schedulingBench({ quick, log }: BenchOptions): Promise<Row[]> {
  const played = quick ? traces.filter(({ chats }) => chats.length < 12) : traces;
  const requests = machines.flatMap((machine) => {
    const withAll = played.map((trace) => simulate(trace, machine));
    return (Object.keys(heuristics) as (keyof Switches)[]).map((name): Row => {
      const without = played.map((trace) => simulate(trace, machine, [name]));
      const ratios = (of: keyof Figures) => withAll.map((one, index) => one[of] / (without[index] as Figures)[of]);
      const [speed, first, gap, prefilled] = (
        ['tokensPerSecond', 'lateFirstTokenMs', 'gapMs', 'prefilled'] as const
      ).map((of) => range(ratios(of)));
      log(`${machine.name}, ${name}: speed ${speed}, first token ${first}, gaps ${gap}, tokens prefilled ${prefilled}`);
      const what = `${name}, ${machine.name}: speed with it ÷ without`;
      return { bench: 'scheduling', what, value: mean(ratios('tokensPerSecond')), unit: '' };
    });
  });
  return [...requests, ...[false, true].flatMap((watched) => threadRows(watched, log))];
}

function threadRows(watched: boolean, log: BenchOptions['log']): Row[] {
  const withAll = loads.map((load) => simulateThreads(load, watched));
  return (Object.keys(threadHeuristics) as (keyof ThreadSwitches)[]).map((name): Row => {
    const ratios = loads.map((load, index) => (withAll[index] as number) / simulateThreads(load, watched, [name]));
    const where = watched ? 'contention reported' : 'step times only';
    log(`threads, ${where}, ${name}: speed ${range(ratios)}`);
    return { bench: 'scheduling', what: `${name}, ${where}: speed with it ÷ without`, value: mean(ratios), unit: '' };
  });
}

function range(ratios: readonly number[]): string {
  return `${mean(ratios).toFixed(3)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`;
}

/** The geometric mean, as of ratios. */
function mean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
