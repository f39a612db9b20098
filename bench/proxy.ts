import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A minimal reverse proxy: forwards the request, and streams the response back. */
const port = Number(process.argv[2]);
const agent = new Agent({ keepAlive: true });

const server = createServer(async (incoming, outgoing) => {
  const pieces: Buffer[] = [];
  for await (const piece of incoming) pieces.push(piece as Buffer);
  const body = Buffer.concat(pieces);
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const options = {
    host: '127.0.0.1',
    port,
    path: incoming.url ?? '/',
    method: incoming.method ?? 'GET',
    agent,
    headers,
  };
  request(options, (answer) => {
    outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
    answer.pipe(outgoing);
  }).end(body);
});

server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }));
process.on('disconnect', () => process.exit(0));
