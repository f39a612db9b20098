import { expect, test } from 'vitest';
import type { Medium } from '../../../../core/request.ts';
import { readImage } from '../testing/media.ts';
import type { Projector } from './projector.ts';
import { readMedia } from './read-media.ts';

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
