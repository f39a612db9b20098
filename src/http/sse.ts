/** A server-sent event. `data` must be one line: JSON, which has no bare line breaks, or a marker such as `[DONE]`. */
export function dataFrame(data: string): string {
  return `data: ${data}\n\n`;
}

export function namedFrame(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

/** A frame of the native stream, where every event is a `message`. */
export function messageFrame(data: string): string {
  return `event: message\ndata: ${data}\n\n`;
}

/** A comment, which clients skip. Padding gets it through proxies that buffer a few kilobytes. */
export function commentFrame(text: string, paddedTo = 0): string {
  return `: ${text}`.padEnd(Math.max(0, paddedTo - 2)).concat('\n\n');
}

export const sseHeaders = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;

/** One JSON object per line. */
export function line(value: unknown): string {
  return `${JSON.stringify(value)}\n`;
}

export const ndjsonHeaders = { 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' } as const;
