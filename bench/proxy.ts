import { Agent, createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The least that a server in front of another one can do: take a request in, hand it on, and hand the answer back as it comes. */
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
