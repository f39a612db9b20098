import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string; readonly name?: string; readonly arguments?: object };
}

export interface HttpToolServer {
  readonly url: string;
  readonly requests: IncomingMessage[];
  readonly bodies: Message[];
  /** Ends all connections and listens no more. */
  stop(): void;
  /** Forgets all sessions. */
  forget(): void;
}

const echo = { name: 'echo', inputSchema: { type: 'object' } };

function resultOf({ method, params }: Message, tools: readonly object[] = [echo]): object | undefined {
  if (method === 'initialize') {
    const serverInfo = { name: 'http', version: '1' };
    return { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo };
  }
  if (method === 'tools/list') return { tools };
  if (method === 'ping') return {};
  return params?.name === 'echo' ? { content: [{ type: 'text', text: 'hi' }] } : undefined;
}

/** A tool server with one address. It begins the answer to a call of `hang` and never ends it; `cut` ends it too early. */
export function streamableServer(names: readonly string[] = ['echo']): Promise<HttpToolServer> {
  let session = 1;
  return listening(
    async (request, response, server) => {
      server.requests.push(request);
      if (request.method !== 'POST') return void response.writeHead(405).end();
      const message = await bodyOf(request);
      server.bodies.push(message);
      const sent = request.headers['mcp-session-id'];
      if (message.method !== 'initialize' && sent !== String(session)) return void response.writeHead(404).end();
      if (message.id === undefined) return void response.writeHead(202).end();
      const name = message.params?.name;
      if (name === 'hang' || name === 'cut') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': begun\n\n');
        if (name === 'cut') response.end();
        return;
      }
      const result = resultOf(
        message,
        names.map((name) => ({ ...echo, name })),
      );
      response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': String(session) });
      response.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, ...(result ? { result } : noSuchTool) }));
    },
    () => {
      session += 1;
    },
  );
}

/** One of the older kind: a stream for answers, and another address for messages. */
export function twoEndpointServer(): Promise<HttpToolServer> {
  let stream: ServerResponse | undefined;
  return listening(async (request, response, server) => {
    server.requests.push(request);
    if (request.method === 'GET') {
      stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      stream.write('event: endpoint\ndata: /messages\n\n');
      return;
    }
    if (request.url !== '/messages') return void response.writeHead(405).end();
    const message = await bodyOf(request);
    response.writeHead(202).end();
    const result = resultOf(message);
    if (result) stream?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: message.id, result })}\n\n`);
  });
}

const noSuchTool = { error: { code: -32602, message: 'no such tool' } };

function listening(
  answer: (request: IncomingMessage, response: ServerResponse, server: HttpToolServer) => Promise<void>,
  forget: () => void = () => {},
): Promise<HttpToolServer> {
  return new Promise((resolve) => {
    const http = createServer((request, response) => void answer(request, response, server)).listen(
      0,
      '127.0.0.1',
      () => resolve(server),
    );
    const server: HttpToolServer = {
      get url() {
        return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
      },
      requests: [],
      bodies: [],
      forget,
      stop: () => {
        http.close();
        http.closeAllConnections();
      },
    };
    onTestFinished(server.stop);
  });
}

async function bodyOf(request: IncomingMessage): Promise<Message> {
  let text = '';
  for await (const piece of request) text += String(piece);
  return JSON.parse(text) as Message;
}
