import { linePlot, type Series } from './line-plot.ts';
import { type Row, table } from './report.ts';

/** `--document` replaces the text between these lines; everything else is written by hand. */
const begin = (bench: string): string => `<!-- ${bench}: begin -->`;
const end = (bench: string): string => `<!-- ${bench}: end -->`;

/** The page with the figures of one bench in their place; a bench without a place gets one at the end. */
export function documented(page: string, bench: string, figures: string): string {
  const section = `${begin(bench)}\n${figures}\n${end(bench)}`;
  const [from, until] = [page.indexOf(begin(bench)), page.indexOf(end(bench))];
  if (from < 0 || until < from) return `${page.trimEnd()}\n\n## Figures: ${bench}\n\n${section}\n`;
  return `${page.slice(0, from)}${section}${page.slice(until + end(bench).length)}`;
}

export interface Circumstances {
  readonly date: string;
  readonly machine: string;
  readonly load: number;
}

export function figuresOf(rows: readonly Row[], { date, machine, load }: Circumstances): string {
  return `${date}, ${machine}; load average ${load.toFixed(1)} at the beginning.\n\n${table(rows)}`;
}

const speed = /^(\d+) at once: speed$/;

/** Tokens a second over the number of streams, for each server in the rows of `serve`. */
export function speedSeries(rows: readonly Row[]): Series[] {
  const found = rows.flatMap(({ what, value, peer }) => {
    const streams = Number(speed.exec(what)?.[1]);
    return streams > 0 ? [{ streams, value, peer: peer?.value }] : [];
  });
  const parley = found.map(({ streams, value }): [number, number] => [streams, value]);
  const peer = found.flatMap(({ streams, peer: value }): [number, number][] => (value ? [[streams, value]] : []));
  return [
    { name: 'Parley', points: parley },
    { name: 'peer', points: peer },
  ].filter(({ points }) => points.length > 0);
}

export function speedPlot(rows: readonly Row[]): string {
  const titles = { title: 'Tokens a second, all streams together', xTitle: 'streams at once', yTitle: 'tokens/s' };
  return linePlot(speedSeries(rows), titles);
}
