/** At least this much of something good, or at most this much of something that costs. */
export type Goal = { readonly atLeast: number } | { readonly atMost: number };

/** One measured figure, of Parley and where there is one of the peer. */
export interface Row {
  readonly bench: string;
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  readonly goal?: Goal;
  readonly peer?: { readonly value: number; readonly ratio?: number };
  /** What Parley's figure divided by the peer's should be. */
  readonly ratioGoal?: Goal;
}

export function goalReached({ value, goal, peer, ratioGoal }: Row): boolean | undefined {
  if (goal) return reached(value, goal);
  return ratioGoal && peer?.ratio !== undefined ? reached(peer.ratio, ratioGoal) : undefined;
}

const reached = (value: number, goal: Goal): boolean =>
  'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost;

/** A Markdown table, so that it reads well in a terminal and in the documentation. */
export function table(rows: readonly Row[]): string {
  const [heads = [], ...cells] = tableOf(rows);
  return markdownTable(heads, cells);
}

/** The heads and the cells of a table of all figures. */
export function tableOf(rows: readonly Row[]): string[][] {
  const hasPeer = rows.some(({ peer }) => peer !== undefined);
  const heads = hasPeer
    ? ['bench', 'what', 'Parley', 'peer', 'Parley ÷ peer', 'goal', '']
    : ['bench', 'what', 'measured', 'goal', ''];
  return [heads, ...rows.map((row) => cellsOf(row, hasPeer))];
}

/** Columns of words; all others are figures, aligned to the right. */
const wordColumns = ['bench', 'what', 'sampling', 'other programs', 'goal', ''];

export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((_, column) => Math.max(...[heads, ...rows].map((row) => row[column]?.length ?? 0)));
  const isFigure = (column: number): boolean => !wordColumns.includes(heads[column] ?? '');
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (isFigure(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (isFigure(column) ? `${'-'.repeat(width + 1)}:` : '-'.repeat(width + 2))).join('|')}|`;
  return [line(heads), rule, ...rows.map(line)].join('\n');
}

function cellsOf(row: Row, hasPeer: boolean): string[] {
  const { bench, what, value, unit, goal, peer, ratioGoal } = row;
  const withUnit = (number: number): string => `${figure(number)} ${unit}`.trim();
  const peerCells = [peer ? withUnit(peer.value) : '', peer?.ratio === undefined ? '' : figure(peer.ratio)];
  const goalCell = goal ? `${bound(goal)} ${unit}`.trim() : ratioGoal && peer ? bound(ratioGoal) : '';
  const verdict = { true: 'reached', false: 'missed', undefined: '' }[String(goalReached(row))] ?? '';
  return [bench, what, withUnit(value), ...(hasPeer ? peerCells : []), goalCell, verdict];
}

const bound = (goal: Goal): string => ('atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`);

function figure(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3);
}
