/** One JSON object per line. */
export function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

/** White space before a JSON value means nothing, so that a reply which is late can show that it is still coming. */
export function blankFiller(length: number): string {
  return `${' '.repeat(Math.max(0, length - 1))}\n`;
}

export const ndjsonHeaders = { 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' } as const;
