import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AttachmentReader, announced } from './channel.ts';

function reader() {
  const delivered: { readonly message: object; readonly attachments: readonly Uint8Array[] }[] = [];
  const all = new AttachmentReader((message, attachments) => delivered.push({ message, attachments }));
  return { delivered, all };
}

describe('AttachmentReader', () => {
  test('delivers a message without attachments at once', () => {
    const message = { type: 'step' };
    expect(announced(message, [])).toBe(message);
    const { delivered, all } = reader();
    all.message(message);
    expect(delivered).toEqual([{ message, attachments: [] }]);
    expect(delivered[0]?.message).toBe(message);
  });

  test('a message waits for its bytes, and later messages wait for it', () => {
    const { delivered, all } = reader();
    all.message(announced({ type: 'picture' }, [Uint8Array.of(1, 2, 3)]));
    all.message({ type: 'step' });
    all.bytes(Uint8Array.of(1));
    all.bytes(Uint8Array.of(2));
    expect(delivered).toEqual([]);
    all.bytes(Uint8Array.of(3));
    expect(delivered).toEqual([
      { message: { type: 'picture' }, attachments: [Uint8Array.of(1, 2, 3)] },
      { message: { type: 'step' }, attachments: [] },
    ]);
  });

  test('accepts bytes before their message', () => {
    const { delivered, all } = reader();
    all.bytes(Uint8Array.of(7, 8));
    expect(delivered).toEqual([]);
    all.message(announced({ type: 'sound' }, [Uint8Array.of(7), Uint8Array.of(8)]));
    expect(delivered[0]?.attachments).toEqual([Uint8Array.of(7), Uint8Array.of(8)]);
  });

  test('accepts empty attachments', () => {
    const { delivered, all } = reader();
    all.message(announced({ type: 'empty' }, [new Uint8Array(0), new Uint8Array(0)]));
    expect(delivered).toEqual([{ message: { type: 'empty' }, attachments: [new Uint8Array(0), new Uint8Array(0)] }]);
  });

  test('accepts any JSON value', () => {
    const { delivered, all } = reader();
    for (const odd of ['up', 7, null, [1]]) all.message(odd as unknown as object);
    expect(delivered.map(({ message }) => message)).toEqual(['up', 7, null, [1]]);
  });

  test('copies the bytes', () => {
    const { delivered, all } = reader();
    const chunk = Uint8Array.of(1, 2);
    all.message(announced({ type: 'a' }, [chunk]));
    all.bytes(chunk);
    chunk.fill(9);
    expect(delivered[0]?.attachments).toEqual([Uint8Array.of(1, 2)]);
  });
});

test('AttachmentReader: delivers all messages complete and in order, for any chunks of both channels', () => {
  const sent = fc.array(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 4 }), { maxLength: 12 });
  fc.assert(
    fc.property(sent, fc.array(fc.nat(30)), fc.array(fc.boolean()), (messages, cuts, turns) => {
      const { delivered, all } = reader();
      const raw = messages.map((attachments, number) => announced({ number }, attachments));
      const bytes = Uint8Array.from(messages.flat().flatMap((part) => [...part]));
      const pieces: Uint8Array[] = [];
      for (let at = 0; at < bytes.length; ) {
        const end = at + 1 + (cuts[pieces.length] ?? 5);
        pieces.push(bytes.subarray(at, end));
        at = end;
      }
      for (let turn = 0; raw.length + pieces.length > 0; turn += 1) {
        const next = (turns[turn] ?? turn % 2 === 0) || pieces.length === 0 ? raw.shift() : undefined;
        if (next) all.message(next);
        else if (pieces.length > 0) all.bytes(pieces.shift() as Uint8Array);
      }
      expect(delivered).toEqual(messages.map((attachments, number) => ({ message: { number }, attachments })));
    }),
  );
});
