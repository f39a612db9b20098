import { SseParser } from '../../../src/core/sse-parser.ts';

export interface ServerEvent {
  readonly event: string;
  readonly data: string;
}

/**
 * The events of a stream, one by one. Comments are not events but are handed on to whoever wants them: the server tells in them
 * how far the queue and the load of a model are.
 */
export async function* serverEvents(
  stream: ReadableStream<Uint8Array>,
  onComment: (text: string) => void = () => {},
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder();
  const reader = stream.getReader();
  let events: ServerEvent[] = [];
  const parser = new SseParser({
    event: (data, event) => void events.push({ event, data }),
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
    // Whoever stops listening wants no more of it: this closes the connection.
    reader.cancel().catch(() => {});
  }
}
