export interface ServerEvent {
  readonly event: string;
  readonly data: string;
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
  let rest = '';
  let event = 'message';
  let data: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = done ? '' : (lines.pop() ?? '');
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0) yield { event, data: data.join('\n') };
          event = 'message';
          data = [];
        } else if (line.startsWith(':')) onComment(line.slice(1).trim());
        else {
          const [name, content] = fieldOf(line);
          if (name === 'event') event = content;
          else if (name === 'data') data.push(content);
        }
      }
      if (done) break;
    }
    if (data.length > 0) yield { event, data: data.join('\n') };
  } finally {
    // Closes the connection when the consumer stops.
    reader.cancel().catch(() => {});
  }
}

function fieldOf(line: string): [name: string, content: string] {
  const colon = line.indexOf(':');
  if (colon === -1) return [line, ''];
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, '')];
}
