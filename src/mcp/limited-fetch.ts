/** `fetch` that fails if a response, or an event of a stream, is larger than `mostBytes`: the client library has no limit. */
export function limitedFetch(maxBytes: number, fetchFrom: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const response = await fetchFrom(input, init);
    if (!response.body) return response;
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '');
    const { status, statusText, headers } = response;
    const body = response.body.pipeThrough(limit(maxBytes, isStream));
    const limited = new Response(body, { status, statusText, headers });
    Object.defineProperty(limited, 'url', { value: response.url });
    return limited;
  };
}

/** In a stream the count restarts after each empty line, where an event ends. */
function limit(maxBytes: number, isStream: boolean): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  let lineIsEmpty = false;
  return new TransformStream({
    transform(chunk, controller) {
      for (const byte of isStream ? chunk : []) {
        bytes += 1;
        if (byte === 0x0a && lineIsEmpty) bytes = 0;
        if (byte !== 0x0d) lineIsEmpty = byte === 0x0a;
      }
      if (!isStream) bytes += chunk.length;
      if (bytes > maxBytes) throw new Error(`it sent a message of more than ${maxBytes / 2 ** 20} MB`);
      controller.enqueue(chunk);
    },
  });
}
