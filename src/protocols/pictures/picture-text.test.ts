import { describe, expect, test } from 'vitest';
import { imageFacts, pictureParts, pngOf } from '../testing/pictures.ts';
import { chosenScheduler, modelHash, pictureText } from './infotext.ts';
import { type AskedPicture, imageRequest } from './request.ts';

function textOf(
  asked: Partial<AskedPicture>,
  more: { readonly initial?: Uint8Array; readonly scheduler?: string } = {},
): string {
  const request = { ...imageRequest({ prompt: 'a boat', ...asked }, imageFacts, pictureParts(undefined)), ...more };
  const drawn = { ...request, pictures: [], notes: [] };
  return pictureText({ request, drawn, facts: imageFacts, product: { name: 'Parley', version: '1' } }, 7);
}

describe('the text about a picture', () => {
  test('leaves out what is as usual', () => {
    expect(textOf({})).toBe(
      'a boat\nSteps: 20, Sampler: Euler, CFG scale: 5, Seed: 7, Size: 512x512, Model hash: abcdefabcd, Model: sketch, Version: Parley 1',
    );
  });

  test('tells the scheduler where it is not the first of the model', () => {
    expect(textOf({ scheduler: 'karras' })).toContain('Sampler: Euler, Schedule type: karras, CFG scale');
    expect(chosenScheduler({ scheduler: '' }, imageFacts)).toBeUndefined();
  });

  test('tells what was done with a picture to begin from', () => {
    expect(textOf({ strength: 0.4, clipSkip: 2 }, { initial: pngOf(4, 4) })).toContain(
      'Denoising strength: 0.4, Clip skip: 2',
    );
    expect(textOf({ strength: 0.4 })).not.toContain('Denoising');
  });

  test('has a hash in any case', () => {
    expect(modelHash({ sha256: '0123456789abcdef' })).toBe('0123456789');
    expect(modelHash({})).toBe('8888888888');
  });
});
