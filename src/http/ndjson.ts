/** One JSON object per line. */
export function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

export const ndjsonHeaders = { 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' } as const;
