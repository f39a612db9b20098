import { array, assert, integer, property, record, string, uint8Array } from 'fast-check';
import { expect, test } from 'vitest';
import { FrameReader, frame } from './messages.ts';

function readIn(pieces: readonly Uint8Array[]) {
  const found: { message: unknown; bytes: number[] }[] = [];
  const reader = new FrameReader((message, bytes) => found.push({ message, bytes: [...bytes] }));
  for (const piece of pieces) reader.push(piece);
  return found;
}

test('frame: a message with or without bytes', () => {
  expect(readIn([frame({ type: 'ü' }, Uint8Array.of(1, 2)), frame({ type: 'b' })])).toEqual([
    { message: { type: 'ü' }, bytes: [1, 2] },
    { message: { type: 'b' }, bytes: [] },
  ]);
});

test('FrameReader: delivers only complete messages', () => {
  const whole = frame({ type: 'a' }, Uint8Array.of(1, 2, 3));
  expect(readIn([whole.subarray(0, 5)])).toEqual([]);
  expect(readIn([whole.subarray(0, whole.length - 1)])).toEqual([]);
  expect(readIn([whole.subarray(0, whole.length - 1), whole.subarray(whole.length - 1)])).toHaveLength(1);
});

test('FrameReader: any chunking delivers all messages in order', () => {
  const messages = array(record({ text: string(), bytes: uint8Array({ maxLength: 40 }) }), { maxLength: 6 });
  assert(
    property(messages, array(integer({ min: 1, max: 30 }), { minLength: 1 }), (sent, sizes) => {
      const all = Buffer.concat(sent.map(({ text, bytes }) => frame({ text }, bytes)));
      const pieces: Uint8Array[] = [];
      for (let at = 0, turn = 0; at < all.length; turn += 1) {
        const size = sizes[turn % sizes.length] as number;
        pieces.push(all.subarray(at, at + size));
        at += size;
      }
      expect(readIn(pieces)).toEqual(sent.map(({ text, bytes }) => ({ message: { text }, bytes: [...bytes] })));
    }),
  );
});
