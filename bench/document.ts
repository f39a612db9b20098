import { fillPage } from '../scripts/pages/tables.ts';
import { linePlot, type Series } from './line-plot.ts';
import { markdownTable, type Row, tableOf } from './report.ts';

/** One table of docs/performance.md: what was measured where, when and how. */
export interface FigureTable {
  readonly title: string;
  readonly machine: string;
  readonly date: string;
  readonly command: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** bench/figures.json: the latest figures of each measurement, by the name of their marker in the page. */
export type Figures = Readonly<Record<string, FigureTable>>;

/** The page with all figures between their markers; a table without markers gets a section at the end. */
export function fillFigures(page: string, figures: Figures): string {
  return Object.entries(figures).reduce((text, [name, table]) => {
    const section = `\n### ${name}\n\n<!-- ${name} -->\n<!-- /${name} -->\n`;
    return fillPage(text.includes(`<!-- ${name} -->`) ? text : text + section, name, figureText(table));
  }, page);
}

function figureText({ title, machine, date, command, columns, rows }: FigureTable): string {
  const source = command.startsWith('npm ') ? `\`${command}\`` : command;
  return `**${title}.** ${date}, ${machine}; ${source}.\n\n${markdownTable(columns, rows)}`;
}

/** One row of a table on each line, so that a new measurement is a readable change. */
export function figuresFile(figures: Figures): string {
  const tables = Object.entries(figures).map(([name, { rows, ...facts }]) => {
    const properties = Object.entries(facts).map(([key, value]) => `    ${JSON.stringify(key)}: ${oneLine(value)}`);
    const lines = rows.map((row) => `      ${oneLine(row)}`).join(',\n');
    return `  ${JSON.stringify(name)}: {\n${properties.join(',\n')},\n    "rows": [\n${lines}\n    ]\n  }`;
  });
  return `{\n${tables.join(',\n')}\n}\n`;
}

const oneLine = (value: string | readonly string[]): string =>
  typeof value === 'string' ? JSON.stringify(value) : `[${value.map((cell) => JSON.stringify(cell)).join(', ')}]`;

/** What a bench has measured, as a table of the page. */
export function figureTable(
  rows: readonly Row[],
  { title, machine, date, command }: Omit<FigureTable, 'columns' | 'rows'>,
): FigureTable {
  const [columns = [], ...cells] = tableOf(rows).map(([, ...others]) => others);
  return { title, machine, date, command, columns, rows: cells };
}

const speed = /^(\d+) at once: speed$/;

/** Tokens a second over the number of streams, for each server in the table of `serve`. */
export function speedSeries({ columns, rows }: FigureTable): Series[] {
  const speeds = rows.filter(([what = '']) => speed.test(what));
  return columns.slice(1, 3).flatMap((name, index): Series[] => {
    const points = speeds.flatMap(([what = '', ...cells]): [number, number][] => {
      const value = Number.parseFloat(cells[index] ?? '');
      return value > 0 ? [[Number.parseInt(what, 10), value]] : [];
    });
    return points.length > 0 ? [{ name, points }] : [];
  });
}

export function speedPlot(table: FigureTable): string {
  const titles = { title: 'Tokens a second, all streams together', xTitle: 'streams at once', yTitle: 'tokens/s' };
  return linePlot(speedSeries(table), titles);
}
