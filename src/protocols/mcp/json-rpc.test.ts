import fc from 'fast-check';
import { expect, test } from 'vitest';
import { readMessage } from './json-rpc.ts';

test('readMessage: reads a request with id, method and optional params', () => {
  expect(readMessage({ jsonrpc: '2.0', id: 1, method: 'ping' })).toEqual({
    type: 'request',
    id: 1,
    method: 'ping',
    params: {},
  });
  expect(readMessage({ id: 'x', method: 'tools/call', params: { name: 'a' } })).toMatchObject({
    id: 'x',
    params: { name: 'a' },
  });
  expect(readMessage({ id: null, method: 'ping', params: null })).toMatchObject({
    type: 'request',
    id: null,
    params: {},
  });
});

test.each([{ method: 'notifications/initialized' }, { id: 4, result: {} }, { id: 4, error: { code: 1, message: '' } }])(
  'readMessage: %j is unanswered',
  (message) => {
    expect(readMessage(message)).toEqual({ type: 'unanswered' });
  },
);

test.each([
  [{}, null, 'there is no method'],
  [{ id: 3 }, 3, 'there is no method'],
  [{ id: 3, method: 7 }, 3, 'there is no method'],
  [{ id: {}, method: 'ping' }, null, 'an id is a text or a number'],
  [{ id: true, method: 'ping' }, null, 'an id is a text or a number'],
  [{ id: 3, method: 'ping', params: [] }, 3, 'params is an object'],
])('readMessage: %j is invalid', (value, id, reason) => {
  expect(readMessage(value)).toEqual({ type: 'invalid', id, reason });
});

test('readMessage: classifies any object', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('id', 'method', 'params', 'result', 'x'), fc.jsonValue()), (value) => {
      expect(['request', 'unanswered', 'invalid']).toContain(readMessage(value).type);
    }),
  );
});
