import { expect, test } from 'vitest';
import { previewImage } from './image.ts';

const message = (type: number, second: number, ...rest: readonly number[]): Uint8Array => {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(type, 0);
  head.writeUInt32BE(second, 4);
  return Uint8Array.from([...head, ...rest]);
};

test('previewPicture: JPEG, PNG, and pictures behind metadata', () => {
  expect([...(previewImage(message(1, 1, 9, 8)) ?? [])]).toEqual([9, 8]);
  expect([...(previewImage(message(1, 2, 9)) ?? [])]).toEqual([9]);
  expect([...(previewImage(message(4, 2, 123, 125, 7, 6)) ?? [])]).toEqual([7, 6]);
});

test('previewPicture: nothing in other messages, and in those that are cut', () => {
  const others = [
    message(1, 2),
    message(1, 3, 9),
    message(3, 1, 65, 66),
    message(4, 2, 123, 125),
    message(4, 2 ** 31, 1),
  ];
  for (const other of [...others, new Uint8Array(), Uint8Array.of(0, 0, 0, 1)]) {
    expect(previewImage(other)).toBeUndefined();
  }
});
