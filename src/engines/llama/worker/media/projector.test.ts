import { expect, test } from 'vitest';
import { chunk, readImage } from '../testing/media.ts';
import { MediaStore } from './projector.ts';

/** Each takes 40 bytes. */
const medium = (id: number) => readImage(chunk(id, 10));

test('what was not used for the longest time goes first', () => {
  const store = new MediaStore(100);
  store.put('a', medium(-2));
  store.put('b', medium(-20));
  expect(store.get('a')).toBeDefined();
  store.put('c', medium(-40));
  expect(['a', 'b', 'c'].map((key) => store.get(key) !== undefined)).toEqual([true, false, true]);
});

test('the same again takes no more room', () => {
  const store = new MediaStore(100);
  for (let round = 0; round < 5; round += 1) store.put('a', medium(-2 - round));
  store.put('b', medium(-20));
  expect(store.get('a')).toEqual(medium(-6));
});

test('what is larger than all the room is not kept', () => {
  const store = new MediaStore(30);
  store.put('a', medium(-2));
  expect(store.get('a')).toBeUndefined();
});
