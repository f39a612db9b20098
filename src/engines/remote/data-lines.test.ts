import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DataLines } from './data-lines.ts';

function read(...pieces: readonly string[]): readonly string[] {
  const told: string[] = [];
  const lines = new DataLines((data) => told.push(data));
  for (const piece of pieces) lines.push(piece);
  lines.end();
  return told;
}

test('each event is told once, with or without a space after the colon', () => {
  expect(read('data: {"a":1}\n\ndata:{"b":2}\n\ndata: [DONE]\n\n')).toEqual(['{"a":1}', '{"b":2}', '[DONE]']);
});

test('names, ids, comments and empty lines say nothing', () => {
  expect(read(': keepalive\n\nevent: message\nid: 4\nretry: 10\ndata: x\n\n\n\n')).toEqual(['x']);
});

test('lines may end in either way, and an event may have several', () => {
  expect(read('data: one\r\ndata: two\r\n\r\ndata: three\n\n')).toEqual(['one\ntwo', 'three']);
});

test('the last event needs no empty line after it', () => {
  expect(read('data: one\n\ndata: two')).toEqual(['one', 'two']);
  expect(read('data: one\n\ndata: two\r')).toEqual(['one', 'two']);
});

test('however the stream is cut, it says the same', () => {
  const events = fc.array(
    fc.string({ unit: 'grapheme' }).map((text) => JSON.stringify({ text })),
    { maxLength: 5 },
  );
  fc.assert(
    fc.property(events, fc.array(fc.nat({ max: 400 })), fc.constantFrom('\n', '\r\n'), (data, cuts, end) => {
      const stream = data.map((one) => `: note${end}data: ${one}${end}${end}`).join('');
      const places = [0, ...cuts.map((cut) => Math.min(cut, stream.length)), stream.length].sort((a, b) => a - b);
      const pieces = places.slice(1).map((place, index) => stream.slice(places[index], place));
      expect(read(...pieces)).toEqual(data);
    }),
  );
});

test('a line without an end is given up', () => {
  const lines = new DataLines(() => undefined);
  lines.push(`data: ${'x'.repeat(2 ** 24)}`);
  lines.push('y'.repeat(2 ** 23));
  expect(() => lines.push('z'.repeat(2 ** 24))).toThrow('has no end');
});
