/** A server-sent event. `data` must be one line: JSON, which has no bare line breaks, or a marker such as `[DONE]`. */
export const dataFrame = (data: string): string => `data: ${data}\n\n`;

export const namedFrame = (event: string, data: string): string => `event: ${event}\ndata: ${data}\n\n`;

/** A frame of the native stream, where every event is a `message`. */
export const messageFrame = (data: string): string => `event: message\ndata: ${data}\n\n`;

/** A comment, which clients skip. Padding gets it through proxies that buffer a few kilobytes. */
export function commentFrame(text: string, paddedTo = 0): string {
  return `: ${text}`.padEnd(Math.max(0, paddedTo - 2)).concat('\n\n');
}

export const sseHeaders = { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } as const;

/** One JSON object per line. */
export const line = (value: unknown): string => `${JSON.stringify(value)}\n`;

export const ndjsonHeaders = { 'content-type': 'application/x-ndjson', 'x-accel-buffering': 'no' } as const;
