import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { type RemoteAddress, readRemote } from '../../../config/remote.ts';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  // biome-ignore lint/suspicious/noExplicitAny: whatever was sent is looked at by the test.
  readonly body: any;
}

export type Handler = (received: Received, response: ServerResponse) => void | Promise<void>;

/** An engine elsewhere that does what a test says. */
export interface Upstream {
  readonly base: string;
  readonly host: string;
  readonly received: readonly Received[];
  /** What it was asked under this path. */
  asked(path: string): readonly Received[];
  address(options?: string): RemoteAddress;
  /** Other answers from now on. */
  become(handlers: Readonly<Record<string, Handler>>): void;
  /** Ends every connection and takes no more. */
  die(): Promise<void>;
}

export async function upstream(handlers: Readonly<Record<string, Handler>>): Promise<Upstream> {
  let known = handlers;
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const text = Buffer.concat(pieces).toString();
    const { method = '', url: path = '', headers } = request;
    const one = { method, path, headers, body: bodyOf(headers, text) };
    received.push(one);
    const handler = known[path];
    if (handler) await handler(one, response);
    else json({ detail: 'Not Found' }, 404)(one, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const die = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  };
  onTestFinished(die);
  return {
    base: `http://${host}`,
    host,
    received,
    asked: (path) => received.filter((one) => one.path === path),
    address: (options = '') => {
      const reading = readRemote(`http://${host}${options}`);
      if (!reading.ok) throw new Error(reading.expected);
      return reading.address;
    },
    become: (next) => {
      known = next;
    },
    die,
  };
}

function bodyOf({ 'content-type': type = '' }: IncomingHttpHeaders, text: string): unknown {
  if (text === '') return undefined;
  return type.includes('json') ? JSON.parse(text) : text;
}

export function json(body: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): Handler {
  return (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  };
}

/** The list of models by which each kind is known. */
export const listed = {
  vllm: json({ object: 'list', data: [{ id: 'org/model-8b', owned_by: 'vllm', max_model_len: 4096 }] }),
  parley: json({ data: [{ id: 'koboldcpp/parley-mini', owned_by: 'koboldcpp', max_model_len: 2048 }] }),
  openai: json({ data: [{ id: 'model-x', owned_by: 'somebody' }] }),
};

export const wellVllm = { '/v1/models': listed.vllm, '/health': json({}) };
export const wellParley = {
  '/v1/models': listed.parley,
  '/health': json({ status: 'ok' }),
  '/api/extra/version': json({ result: 'KoboldCpp', parley: { version: '1' }, vision: false, audio: false }),
};

/** A stream of these chunks and its mark of the end. */
export function streamed(...chunks: readonly unknown[]): Handler {
  return (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const chunk of chunks) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    response.end('data: [DONE]\n\n');
  };
}

export const delta = (fields: object, more: object = {}) => ({ choices: [{ index: 0, delta: fields, ...more }] });
export const said = (content: string) => delta({ content });
export const ended = (reason = 'stop', more: object = {}) => delta({}, { finish_reason: reason, ...more });
export const usage = (prompt: number, completion: number, cached = 0) => ({
  choices: [],
  usage: {
    prompt_tokens: prompt,
    completion_tokens: completion,
    prompt_tokens_details: { cached_tokens: cached },
  },
});
