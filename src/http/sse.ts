/**
 * Server-sent events. `data` is always one line of JSON here (or a marker such as `[DONE]`): JSON never holds a bare line
 * break, so that nothing has to be split.
 */
export function dataFrame(data: string): string {
  return `data: ${data}\n\n`;
}

export function namedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** The kind of event that the native stream sends: every frame is a `message`. */
export function messageFrame(data: string): string {
  return `event: message\ndata: ${data}\n\n`;
}

/** A line that clients skip. Padding gets it past proxies that collect a few kilobytes before they pass anything on. */
export function commentFrame(text: string, paddedTo = 0): string {
  return `: ${text}`.padEnd(Math.max(0, paddedTo - 2)).concat('\n\n');
}

export const sseHeaders = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;

/** One JSON object per line. */
export function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

export const ndjsonHeaders = { 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' } as const;
