import { Agent, type IncomingHttpHeaders, request } from 'node:http';

/** A request as it goes over the wire. */
export interface SentRequest {
  readonly method: string;
  /** With its query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** Sizes of the pieces of a chunked body; empty: sent at once, with its length. */
  readonly chunks: readonly number[];
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export const noAnswer = 'no answer within two minutes';

/** Sends requests over kept connections. */
export function rawClient(port: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: 64 });
  return {
    /** Rejects if the connection is cut before the end of the answer. */
    send: (sent: SentRequest) => send(sent, port, agent),
    close: () => agent.destroy(),
  };
}

function send({ method, target, headers, body, chunks }: SentRequest, port: number, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    // Said in any case: without it a body of GET would be taken for the next request.
    const framing = chunks.length > 0 ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(body.length) };
    const outgoing = request({
      host: '127.0.0.1',
      port,
      agent,
      method,
      path: target,
      timeout: 120_000,
      headers: { ...headers, ...framing },
    });
    outgoing
      .on('timeout', () => outgoing.destroy(new Error(noAnswer)))
      .on('error', reject)
      .on('response', (incoming) => {
        const pieces: Buffer[] = [];
        incoming
          .on('data', (piece: Buffer) => pieces.push(piece))
          .on('error', reject)
          .on('end', () =>
            resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: Buffer.concat(pieces) }),
          );
      });
    let start = 0;
    for (const size of chunks) {
      if (start >= body.length) break;
      outgoing.write(body.subarray(start, start + size));
      start += size;
    }
    outgoing.end(body.subarray(start));
  });
}
