import { createServer, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { plainRequest } from '../src/core/testing/plain-request.ts';
import { spawnChild } from '../src/engines/host/child.ts';
import type { FromWorker, ToWorker } from '../src/engines/llama/messages.ts';
import { messageFrame } from '../src/http/sse.ts';

/**
 * The least that a Node server can do for a streamed token: take the worker's message and write the frame. It knows one
 * path, one request at a time and no error; the distance to it is the price of everything else.
 */
let client: ServerResponse | undefined;

const worker = spawnChild<ToWorker, FromWorker>(fileURLToPath(new URL('fast-worker.js', import.meta.url)), {
  message: (message) => {
    if (message.type !== 'step') return;
    for (const piece of message.pieces) {
      if (piece.type === 'text-delta')
        client?.write(messageFrame(`{"token": ${JSON.stringify(piece.text)}, "finish_reason": null}`));
      else if (piece.type === 'finish') client?.end(messageFrame('{"token": "", "finish_reason": "length"}'));
    }
  },
  exit: () => process.exit(0),
});

const server = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  const { max_length: tokens } = JSON.parse(text) as { max_length: number };
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  client = response;
  worker.send({ type: 'generate', id: 1, request: plainRequest('', tokens), seed: 1 });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on('disconnect', () => process.exit(0));
