/** One measured figure. */
export interface Row {
  readonly bench: string;
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What we want to reach: at least this much of something good, or at most this much of something that costs. */
  readonly goal?: { readonly atLeast: number } | { readonly atMost: number };
}

export function goalReached({ value, goal }: Row): boolean | undefined {
  if (goal === undefined) return undefined;
  return 'atLeast' in goal ? value >= goal.atLeast : value <= goal.atMost;
}

/** A Markdown table, so that it reads well in a terminal and in the documentation. */
export function table(rows: readonly Row[]): string {
  const cells = [['bench', 'what', 'measured', 'goal', ''], ...rows.map(cellsOf)];
  const widths = (cells[0] as string[]).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) =>
    `| ${row.map((cell, column) => (column === 2 ? cell.padStart(widths[2] ?? 0) : cell.padEnd(widths[column] ?? 0))).join(' | ')} |`;
  const rule = `|${widths.map((width, column) => (column === 2 ? `${'-'.repeat(width + 1)}:` : '-'.repeat(width + 2))).join('|')}|`;
  return [line(cells[0] as string[]), rule, ...cells.slice(1).map(line)].join('\n');
}

function cellsOf(row: Row): string[] {
  const { bench, what, value, unit, goal } = row;
  const wanted = goal === undefined ? '' : 'atLeast' in goal ? `≥ ${goal.atLeast}` : `≤ ${goal.atMost}`;
  const reached = goalReached(row);
  const verdict = reached === undefined ? '' : reached ? 'reached' : 'missed';
  return [
    bench,
    what,
    `${figure(value)}${unit === '' ? '' : ` ${unit}`}`,
    wanted && `${wanted} ${unit}`.trim(),
    verdict,
  ];
}

function figure(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3);
}
