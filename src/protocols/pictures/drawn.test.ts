import { describe, expect, test } from 'vitest';
import { AppError } from '../../core/errors.ts';
import { drawSquares, imageFacts, pictureParts, stoppedAfterOne } from '../testing/pictures.ts';
import { collectDrawn } from './drawn.ts';
import { imageRequest } from './request.ts';

const request = imageRequest(
  { prompt: 'a boat', width: 64, height: 64, count: 3, seed: 5 },
  imageFacts,
  pictureParts(undefined),
);

describe('collectDrawn', () => {
  test('returns pictures and effective parameters', async () => {
    const drawn = await collectDrawn(drawSquares(request, ['No such sampler']), request);
    expect(drawn.pictures.map(({ seed }) => seed)).toEqual([5, 6, 7]);
    expect(drawn).toMatchObject({ width: 64, steps: 20, sampler: 'euler', notes: ['No such sampler'], stopped: false });
  });

  test('orders pictures by index', async () => {
    const png = new Uint8Array();
    const events = async function* () {
      yield { type: 'picture', index: 2, seed: 7, png } as const;
      yield { type: 'picture', index: 0, seed: 5, png } as const;
    };
    const { pictures } = await collectDrawn(events(), request);
    expect(pictures.map(({ seed }) => seed)).toEqual([5, 7]);
  });

  test('skipped pictures: is stopped only if all were skipped', async () => {
    const picture = { type: 'picture', index: 1, seed: 6, png: new Uint8Array() } as const;
    const some = async function* () {
      yield picture;
    };
    const none = async function* () {};
    expect(await collectDrawn(some(), request)).toMatchObject({ pictures: [{ seed: 6 }], stopped: false });
    expect(await collectDrawn(none(), request)).toMatchObject({ pictures: [], stopped: true });
  });

  test('stopped: returns the finished pictures', async () => {
    const drawn = await collectDrawn(stoppedAfterOne(request), request);
    expect(drawn).toMatchObject({ stopped: true, width: 64 });
    expect(drawn.pictures).toHaveLength(1);
  });

  test('rejects with other errors', async () => {
    // biome-ignore lint/correctness/useYield: fails before the first event.
    const events = async function* () {
      throw new AppError('engine-lost', { capability: 'image' });
    };
    await expect(collectDrawn(events(), request)).rejects.toMatchObject({ code: 'engine-lost' });
  });
});
