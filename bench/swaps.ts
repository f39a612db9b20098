import type { SwapLimits } from '../src/models/swap-order.ts';
import type { BenchOptions } from './options.ts';
import { markdownTable, type Row } from './report.ts';
import { inOrder, mixedTraffic, swapFigures } from './swap-simulation.ts';

/** Half an hour of requests of people (Poisson arrivals, exponential durations). */
const traffics = [
  {
    what: 'two models in turn',
    models: { a: { perMinute: 6, seconds: 5, loadSeconds: 8 }, b: { perMinute: 6, seconds: 5, loadSeconds: 8 } },
    room: 1,
  },
  {
    what: 'an agent, and a chat with another model',
    models: {
      agent: { perMinute: 20, seconds: 4, loadSeconds: 15 },
      chat: { perMinute: 2, seconds: 10, loadSeconds: 15 },
    },
    room: 1,
  },
  {
    what: 'three models',
    models: {
      a: { perMinute: 6, seconds: 6, loadSeconds: 10 },
      b: { perMinute: 4, seconds: 6, loadSeconds: 10 },
      c: { perMinute: 2, seconds: 6, loadSeconds: 10 },
    },
    room: 1,
  },
  {
    what: 'three models, room for two',
    models: {
      a: { perMinute: 10, seconds: 6, loadSeconds: 10 },
      b: { perMinute: 6, seconds: 6, loadSeconds: 10 },
      c: { perMinute: 2, seconds: 6, loadSeconds: 10 },
    },
    room: 2,
  },
  {
    what: 'two small models, short requests',
    models: { a: { perMinute: 20, seconds: 2, loadSeconds: 2 }, b: { perMinute: 20, seconds: 2, loadSeconds: 2 } },
    room: 1,
  },
];

const orders: readonly { readonly name: string; readonly limits: SwapLimits }[] = [
  { name: 'in order', limits: inOrder },
  { name: '30 s, 1 swap', limits: { seconds: 30, swaps: 1 } },
  { name: '30 s, 2 swaps', limits: { seconds: 30, swaps: 2 } },
  { name: '120 s, 20 swaps', limits: { seconds: 120, swaps: 20 } },
];

/** Swaps and waiting times of mixed traffic, in order and with limits: simulated with the registry and the queue. */
export async function swapsBench({ log, quick }: BenchOptions): Promise<Row[]> {
  const rows: Row[] = [];
  const cells: string[][] = [];
  for (const { what, models, room } of traffics)
    for (const parallel of [1, 4]) {
      const traffic = mixedTraffic(models, { minutes: quick ? 5 : 30, room, parallel, seed: 7 });
      for (const { name, limits } of orders) {
        const { loads, mean, high, longest } = await swapFigures(traffic, limits);
        const title = `${what}, ${parallel} at once`;
        cells.push([title, name, `${loads}`, ...[mean, high, longest].map((one) => one.toFixed(1))]);
        rows.push({ bench: 'swaps', what: `${title}, ${name}: mean wait`, value: mean, unit: 's' });
      }
    }
  const heads = ['what', 'order', 'swaps', 'mean wait (s)', '95 % (s)', 'longest (s)'];
  for (const line of markdownTable(heads, cells).split('\n')) log(line);
  return rows;
}
