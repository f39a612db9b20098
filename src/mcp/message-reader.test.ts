import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MessageReader, maxMessageBytes } from './message-reader.ts';

function readAll(pieces: readonly (string | Buffer)[]) {
  let overflows = 0;
  const reader = new MessageReader(() => {
    overflows += 1;
  });
  const messages: unknown[] = [];
  for (const piece of pieces) {
    reader.append(Buffer.from(piece));
    for (let message = reader.readMessage(); message; message = reader.readMessage()) messages.push(message);
  }
  return { messages, overflows };
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
const done = { jsonrpc: '2.0', id: 'a', result: { text: 'ümlaut "\\{[ ' } };

test('MessageReader: finds the same messages however the output is cut', () => {
  const output = Buffer.from(
    `${JSON.stringify(ping)}\r\nno JSON\n\n${JSON.stringify(done)}\n${JSON.stringify(ping)}\n`,
  );
  fc.assert(
    fc.property(fc.array(fc.nat(output.length)), (cuts) => {
      const places = [0, ...cuts.toSorted((a, b) => a - b), output.length];
      const pieces = places.slice(1).map((end, index) => output.subarray(places[index], end));
      expect(readAll(pieces).messages).toEqual([ping, done, ping]);
    }),
  );
});

test.each([
  ['{"id":1,"result":5}', 'its result is no object'],
  ['{"id":1,"result":[]}', 'its result is no object'],
  ['{"id":1}', 'its result is no object'],
  [`{"id":1,"result":${'['.repeat(200)}${']'.repeat(200)}}`, 'it is nested too deeply'],
])('MessageReader: an unusable response is an error: %s', (line, reason) => {
  expect(readAll([`${line}\n`]).messages).toEqual([
    {
      jsonrpc: '2.0',
      id: 1,
      error: { code: -32603, message: `The answer of the tool server cannot be used: ${reason}.` },
    },
  ]);
});

test('MessageReader: ignores brackets in strings', () => {
  const result = { text: '['.repeat(1000) };
  expect(readAll([`${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n`]).messages).toEqual([
    { jsonrpc: '2.0', id: 1, result },
  ]);
});

test.each(['5', 'null', '[]', '{}', '{"id":{},"result":{}}', '{"id":null,"error":{}}'])(
  'MessageReader: %s is no message',
  (line) => {
    expect(readAll([`${line}\n`]).messages).toEqual([]);
  },
);

test('MessageReader: reports a line beyond the limit once', () => {
  let overflows = 0;
  const reader = new MessageReader(() => {
    overflows += 1;
  });
  reader.append(Buffer.alloc(maxMessageBytes, 'x'));
  expect(() => reader.append(Buffer.from('x'))).toThrow('too long');
  expect(overflows).toBe(1);
});
