import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Duplex } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { abortCause } from '../core/abort.ts';
import { createConnections } from './connections.ts';

const socket = () => new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });

/** A request on a socket, as far as connections look at it. */
function requestOn(on: Duplex, headersSent = false) {
  const response = Object.assign(new EventEmitter(), { headersSent });
  return { request: { socket: on } as unknown as IncomingMessage, response: response as unknown as ServerResponse };
}

const closed = (one: Duplex) => new Promise((resolve) => one.once('close', resolve));

describe('createConnections: signal of a request', () => {
  test('aborts with the cause client-gone when the socket closes', async () => {
    const connections = createConnections();
    const one = socket();
    const { request, response } = requestOn(one);
    const signal = connections.controllerFor(request, response).signal;
    expect(signal.aborted).toBe(false);
    one.destroy();
    await closed(one);
    expect([signal.aborted, abortCause(signal)]).toEqual([true, 'client-gone']);
  });

  test('never aborts once the response is complete', async () => {
    const connections = createConnections();
    const one = socket();
    const { request, response } = requestOn(one);
    const signal = connections.controllerFor(request, response).signal;
    response.emit('finish');
    one.destroy();
    await closed(one);
    expect(signal.aborted).toBe(false);
  });

  test('is already aborted if the socket has closed before', () => {
    const one = socket();
    one.destroy();
    const { request, response } = requestOn(one);
    expect(createConnections().controllerFor(request, response).signal.aborted).toBe(true);
  });

  test('aborts only incomplete requests of a socket with several', async () => {
    const connections = createConnections();
    const one = socket();
    const [first, second] = [requestOn(one), requestOn(one)];
    const signals = [first, second].map(({ request, response }) => connections.controllerFor(request, response).signal);
    first.response.emit('finish');
    one.destroy();
    await closed(one);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true]);
  });
});

test('createConnections: stop closes every socket and aborts with the cause shutdown', async () => {
  const connections = createConnections();
  const sockets = [socket(), socket()];
  const signals = sockets.map((one) => {
    connections.add(one);
    const { request, response } = requestOn(one);
    return connections.controllerFor(request, response).signal;
  });
  await connections.destroyAll();
  expect(sockets.every(({ destroyed }) => destroyed)).toBe(true);
  expect(signals.map(abortCause)).toEqual(['shutdown', 'shutdown']);
});

test('createConnections: stop ignores sockets that have closed', async () => {
  const connections = createConnections();
  const one = socket();
  connections.add(one);
  one.destroy();
  await closed(one);
  await connections.destroyAll();
});

test('createConnections: a response is active from its head until it is complete', () => {
  const connections = createConnections();
  const one = socket();
  expect(connections.answering(one)).toBe(false);
  const { request, response } = requestOn(one, true);
  connections.controllerFor(request, response).signal;
  expect(connections.answering(one)).toBe(true);
  response.emit('finish');
  expect(connections.answering(one)).toBe(false);
});
