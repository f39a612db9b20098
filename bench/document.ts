import { fillPage } from '../scripts/pages/tables.ts';
import { linePlot, type Series } from './line-plot.ts';
import { markdownTable, type Row, tableOf } from './report.ts';

/** One table of docs/figures.md: what was measured where, when and how. */
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

/** A cell of a table: the row by its first cells, and the name of the column. */
interface Cell {
  readonly what: string;
  readonly figure: string;
  readonly row: readonly string[];
  readonly column: string;
}

/** What a user notices most, for the top of docs/performance.md. */
const summary: readonly Cell[] = [
  {
    what: 'Speed ÷ llama-server, one stream on two ARM cores',
    figure: 'serve',
    row: ['1 at once: speed'],
    column: 'ratio',
  },
  { what: '… sixteen streams', figure: 'serve', row: ['16 at once: speed'], column: 'ratio' },
  { what: '… one stream of a 4.7 B model on an H200', figure: 'gpu-152k', row: ['usual', '1'], column: 'ratio' },
  { what: '… sixteen streams of it', figure: 'gpu-152k', row: ['usual', '16'], column: 'ratio' },
  {
    what: "First tokens of an agent's later turns ÷ llama-server (Codex)",
    figure: 'agents',
    row: ['Codex: all later turns: first tokens'],
    column: 'Parley ÷ llama-server',
  },
  {
    what: 'Longest gap in a stream while a long prompt is read ÷ llama-server',
    figure: 'fair',
    row: ['others, longest gap'],
    column: 'Parley ÷ peer',
  },
  { what: 'Memory for 16 streams ÷ llama-server', figure: 'memory', row: ['loaded'], column: 'Parley ÷ peer' },
  {
    what: 'First token after a restart, sooner with `--diskcache`',
    figure: 'cache',
    row: ['after a restart: first token sooner with --diskcache'],
    column: 'Parley',
  },
  {
    what: 'Streamed generation over HTTP ÷ a bare loop on the library',
    figure: 'engine',
    row: ['1 thread: streamed, generation speed ÷ bare'],
    column: 'measured',
  },
  { what: 'From the start to the open port', figure: 'start', row: ['until the port accepts'], column: 'measured' },
  { what: 'Memory of the server at rest', figure: 'start', row: ['idle memory of the server'], column: 'measured' },
  { what: 'A spoken question to the first sound', figure: 'talk', row: ['to the first sound'], column: 'measured' },
  { what: 'A search in 100,000 passages', figure: 'documents', row: ['search, median of 40'], column: 'measured' },
  {
    what: 'The chat page, first visit',
    figure: 'pages',
    row: ['chat: fetched at the first visit'],
    column: 'measured',
  },
];

/** docs/performance.md with the figures that matter most, and with the goals that are missed. */
export function fillSummary(page: string, figures: Figures): string {
  const noticed = summary.map(({ what, figure, row, column }) => [
    what,
    cellOf(figures, figure, row, column),
    `\`${figure}\``,
  ]);
  const missed = Object.entries(figures).flatMap(([name, { columns, rows }]) =>
    rows
      .filter((row) => row.includes('missed'))
      .map((row) => [row[0] ?? '', measuredIn(columns, row), row[columns.indexOf('goal')] ?? '', `\`${name}\``]),
  );
  const filled = fillPage(page, 'summary', markdownTable(['what', 'measured', 'bench'], noticed));
  return fillPage(filled, 'missed', markdownTable(['what', 'measured', 'goal', 'bench'], missed));
}

function cellOf(figures: Figures, figure: string, start: readonly string[], column: string): string {
  const { columns = [], rows = [] } = figures[figure] ?? {};
  const row = rows.find((cells) => start.every((cell, index) => cells[index] === cell));
  const cell = row?.[columns.indexOf(column)];
  if (cell === undefined)
    throw new Error(`bench/figures.json has no "${start.join(', ')}" with "${column}" in ${figure}.`);
  return cell;
}

/** The figure that a goal is about: the first one, or for a goal without a unit the ratio, which is the last one. */
function measuredIn(columns: readonly string[], row: readonly string[]): string {
  const goal = columns.indexOf('goal');
  const figures = row.slice(1, goal).filter((cell) => cell !== '');
  return (/[a-zµ%]/.test(row[goal] ?? '') ? figures.at(0) : figures.at(-1)) ?? '';
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
