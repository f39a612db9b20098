/** A line of the console of the server. */
export interface ServerLine {
  readonly number: number;
  /** ISO 8601. */
  readonly time: string;
  readonly text: string;
}

const maxLines = 500;

/** The lines that are known and those that have come; after a restart of the server only the new ones. */
export function mergedLines(known: readonly ServerLine[], next: readonly ServerLine[]): readonly ServerLine[] {
  const last = known.at(-1)?.number ?? 0;
  const [first] = next;
  if (!first) return known;
  return first.number > last ? [...known, ...next].slice(-maxLines) : next;
}

/** Lines about requests begin with the time of the server, which is shown anyway. */
export function withoutTime(text: string): string {
  return text.replace(/^\[\d\d:\d\d:\d\d\] /, '');
}
