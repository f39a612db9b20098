import { expect, test } from 'vitest';
import { fromPortable, toPortable } from './portable.ts';

const toDataUrl = async (blob: Blob) =>
  `data:${blob.type};base64,${btoa(String.fromCharCode(...new Uint8Array(await blob.arrayBuffer())))}`;

test('portable: restores a record with its files', async () => {
  const picture = new Blob([Uint8Array.of(1, 2, 255)], { type: 'image/png' });
  const record = { id: 'a', turns: { b: { text: '語', attachments: [{ blob: picture }, { text: 'x' }] } }, none: null };
  const restored = fromPortable(await toPortable(record, toDataUrl)) as typeof record;
  const [first, second] = restored.turns.b.attachments;
  expect(first?.blob).toBeInstanceOf(Blob);
  expect([...new Uint8Array(await (first?.blob ?? new Blob()).arrayBuffer())]).toEqual([1, 2, 255]);
  expect(first?.blob?.type).toBe('image/png');
  expect([second, restored.turns.b.text, restored.none]).toEqual([{ text: 'x' }, '語', null]);
});

test.each(['', '[]', '3', 'null', '{"a"'])('portable: refuses %j', (text) => {
  expect(() => fromPortable(text)).toThrow();
});
