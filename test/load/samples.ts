import { readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { percentile, slope } from '../../bench/statistics.ts';
import { holdingsOf } from '../../bench/task-kinds.ts';

/** What is measured of a server while it works. */
export interface Sample {
  /** Since the first sample. */
  readonly minutes: number;
  readonly serverMegabytes: number;
  /** In use by the server after a garbage collection: what grows here is leaked. */
  readonly usedMegabytes: number;
  readonly workerMegabytes: number;
  readonly descriptors: number;
  readonly processes: number;
  /** Of the event loop, in the last second: the 99th percentile, in milliseconds. */
  readonly loopDelay: number;
}

type Figure = Exclude<keyof Sample, 'minutes'>;

/**
 * The most that a figure may grow in a minute, over the second half of a run. The others are only reported: the memory of the server also
 * holds garbage, of which there is more when it works faster.
 */
const growthBounds: Readonly<Record<Figure, { readonly title: string; readonly max?: number }>> = {
  usedMegabytes: { title: 'memory in use by the server, MB', max: 0.5 },
  serverMegabytes: { title: 'memory of the server, MB' },
  workerMegabytes: { title: 'memory of the workers, MB', max: 6 },
  descriptors: { title: 'open descriptors', max: 1 },
  processes: { title: 'processes', max: 0.2 },
  loopDelay: { title: 'event loop, p99 of a second, ms' },
};

/** Below this a slope says nothing: heaps and caches find their size in the first minutes. */
const leastMinutes = 6;

/** Samples a server every second until `stop`. */
export function startSampling(pid: number) {
  const startedAt = performance.now();
  const samples: Sample[] = [];
  const take = (): void => {
    try {
      const { serverMegabytes, childMegabytes, descriptors, children } = holdingsOf(pid);
      const minutes = (performance.now() - startedAt) / 60_000;
      const [workerMegabytes, processes] = [childMegabytes, children + 1];
      // A worker that is ending has no memory any more.
      if (Number.isNaN(workerMegabytes)) return;
      const { usedMegabytes, p99: loopDelay } = ownFigures(pid) ?? lastFigures(samples);
      samples.push({ minutes, serverMegabytes, usedMegabytes, workerMegabytes, descriptors, processes, loopDelay });
    } catch {
      // A worker ended while it was looked at.
    }
  };
  take();
  const timer = setInterval(take, 1000);
  return {
    samples,
    stop: (): readonly Sample[] => {
      clearInterval(timer);
      rmSync(figuresFile(pid), { force: true });
      return samples;
    },
  };
}

const figuresFile = (pid: number): string => join(tmpdir(), `parley-test-server-${pid}.json`);

/** What the server measures itself; `measure-server.mjs` writes it. Undefined while it is being written, and after the end. */
function ownFigures(pid: number): { readonly p99: number; readonly usedMegabytes: number } | undefined {
  try {
    return JSON.parse(readFileSync(figuresFile(pid), 'utf8')) as ReturnType<typeof ownFigures>;
  } catch {
    return undefined;
  }
}

function lastFigures(samples: readonly Sample[]): { readonly p99: number; readonly usedMegabytes: number } {
  const { loopDelay: p99 = 0, usedMegabytes = 0 } = samples.at(-1) ?? {};
  return { p99, usedMegabytes };
}

/** A table of the figures, and those that grow by more than they may. */
export function growthReport(samples: readonly Sample[]): { readonly table: string; readonly breaches: string[] } {
  const minutes = samples.at(-1)?.minutes ?? 0;
  const later = samples.filter((sample) => sample.minutes >= minutes / 2);
  const rows: string[][] = [['figure', 'first', 'median', 'most', 'last', 'growth a minute', 'bound']];
  const breaches: string[] = [];
  for (const [figure, { title, max: most }] of Object.entries(growthBounds)) {
    const values = samples.map((sample) => sample[figure as Figure]);
    const growth = slope(later.map((sample) => [sample.minutes, sample[figure as Figure]] as const));
    const counts = most !== undefined && minutes >= leastMinutes;
    if (counts && growth > most) breaches.push(`${title}: grows by ${growth.toFixed(2)} a minute`);
    const [first = 0, last = 0] = [values[0], values.at(-1)];
    const figures = [first, percentile(values, 0.5), Math.max(...values), last].map((value) => value.toFixed(0));
    rows.push([title, ...figures, counts ? growth.toFixed(2) : '', counts ? `≤ ${most}` : '']);
  }
  return { table: aligned(rows), breaches };
}

export function aligned(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)));
  return rows.map((row) => line(row).join('  ')).join('\n');
}
