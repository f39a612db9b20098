import { expect, test } from 'vitest';
import type { Medium } from '../../../../core/request.ts';
import { chunk, readImage } from '../testing/media.ts';
import { MediaStore, type Projector, readMedia } from './projector.ts';

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

const image: Medium = { kind: 'image', base64: 'AA' };
const audio: Medium = { kind: 'audio', base64: 'AA' };

function world(inputs = { image: true, audio: true }) {
  const numbers: string[] = [];
  let stopped = false;
  const projector = {
    inputs,
    read: async ({ kind }: Medium, number: number) => {
      numbers.push(`${kind} ${number}`);
      return readImage();
    },
  } as unknown as Projector;
  return {
    projector,
    numbers,
    reading: { exclusively: <Result>(work: () => Promise<Result>) => work(), stopped: () => stopped },
    stop: () => {
      stopped = true;
    },
  };
}

test('media are read in their order, counted apart by kind', async () => {
  const { projector, numbers, reading } = world();
  expect(await readMedia(projector, [image, audio, image], reading)).toHaveLength(3);
  expect(numbers).toEqual(['image 1', 'audio 1', 'image 2']);
});

test('a kind that the model does not take is refused before anything is read', async () => {
  const { projector, numbers, reading } = world({ image: true, audio: false });
  await expect(readMedia(projector, [image, audio], reading)).rejects.toThrow('Audio input is not possible');
  await expect(readMedia(undefined, [image], reading)).rejects.toThrow('--mmproj FILE');
  expect(numbers).toEqual([]);
});

test('after a stop nothing more is read', async () => {
  const { projector, numbers, reading, stop } = world();
  const stopping = { ...reading, exclusively: reading.exclusively };
  const read = readMedia(projector, [image, image, image], stopping);
  stop();
  expect(await read).toBeUndefined();
  expect(numbers).toEqual(['image 1']);
});
