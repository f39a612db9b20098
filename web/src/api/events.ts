import { SseParser } from '../../../src/core/sse-parser.ts';

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  readonly id?: string;
}

/**
 * Parses a stream of server-sent events. Comments are passed to `onComment`: the server reports the queue position and load
 * progress in them.
 */
export async function* serverEvents(
  stream: ReadableStream<Uint8Array>,
  onComment: (text: string) => void = () => {},
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let events: ServerEvent[] = [];
  const parser = new SseParser({
    event: (data, event, id) => void events.push(id === '' ? { event, data } : { event, data, id }),
    comment: onComment,
  });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      parser.push(done ? decoder.decode() : decoder.decode(value, { stream: true }));
      if (done) parser.end();
      const complete = events;
      events = [];
      yield* complete;
      if (done) break;
    }
  } finally {
    // Closes the connection when the consumer stops.
    reader.cancel().catch(() => {});
  }
}
