import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { imageFacts, pictureParts, pngOf } from '../testing/pictures.ts';
import { chosenScheduler, imageInfotext, infotext, modelHash, parseInfotext } from './infotext.ts';
import { imageRequest, type RequestedImage } from './request.ts';

const story = {
  prompt: 'a lighthouse at dusk',
  negativePrompt: 'blurry',
  entries: [
    ['Steps', 20],
    ['Sampler', 'Euler a'],
    ['Schedule type', undefined],
    ['CFG scale', 5],
    ['Seed', 417_203],
    ['Size', '512x640'],
    ['Model', 'demo'],
  ],
} as const;

describe('infotext', () => {
  test('has the prompts and a line of pairs', () => {
    expect(infotext(story)).toBe(
      'a lighthouse at dusk\nNegative prompt: blurry\nSteps: 20, Sampler: Euler a, CFG scale: 5, Seed: 417203, Size: 512x640, Model: demo',
    );
  });

  test('has no line for an empty negative prompt', () => {
    expect(infotext({ ...story, negativePrompt: '' }).split('\n')).toHaveLength(2);
  });

  test('quotes values with separators', () => {
    expect(infotext({ ...story, entries: [['Model', 'a, b: c']] })).toContain('Model: "a, b: c"');
  });

  test('is parsed again', () => {
    expect(parseInfotext(infotext(story))).toEqual({
      Prompt: 'a lighthouse at dusk',
      'Negative prompt': 'blurry',
      Steps: '20',
      Sampler: 'Euler a',
      'CFG scale': '5',
      Seed: '417203',
      'Size-1': '512',
      'Size-2': '640',
      Model: 'demo',
    });
  });

  test('keeps prompts of several lines apart', () => {
    const text = infotext({ ...story, prompt: 'one\ntwo', negativePrompt: 'three\nfour' });
    expect(parseInfotext(text)).toMatchObject({ Prompt: 'one\ntwo', 'Negative prompt': 'three\nfour' });
  });

  test('parseInfotext: has no pairs if the last line is text', () => {
    expect(parseInfotext('a boat\nby night: dark, calm')).toEqual({
      Prompt: 'a boat\nby night: dark, calm',
      'Negative prompt': '',
    });
    expect(parseInfotext('')).toEqual({ Prompt: '', 'Negative prompt': '' });
  });

  test('parseInfotext: returns every value that was written', () => {
    const value = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .map((text) => text.trim())
      .filter((text) => text !== '' && !text.startsWith('"') && !text.includes('\n') && !/^\d+x\d+$/.test(text));
    fc.assert(
      fc.property(value, value, value, (one, two, three) => {
        const text = infotext({
          prompt: 'p',
          negativePrompt: '',
          entries: [
            ['One', one],
            ['Two', two],
            ['Three', three],
          ],
        });
        const read = parseInfotext(text);
        const balanced = [one, two, three].every((each) => !each.includes('"') || /[,:\n]/.test(each));
        if (balanced) expect(read).toMatchObject({ One: one, Two: two, Three: three });
        else expect(() => parseInfotext(text)).not.toThrow();
      }),
    );
  });

  test('parseInfotext: reads a million characters in linear time', () => {
    expect(Object.keys(parseInfotext(`p\n${'a'.repeat(1_000_000)}`))).toEqual(['Prompt', 'Negative prompt']);
    expect(Object.keys(parseInfotext(`p\n${'a: b, '.repeat(100_000)}`))).toEqual(['Prompt', 'Negative prompt', 'a']);
  });
});

function textOf(
  asked: Partial<RequestedImage>,
  more: { readonly initial?: Uint8Array; readonly scheduler?: string } = {},
): string {
  const request = { ...imageRequest({ prompt: 'a boat', ...asked }, imageFacts, pictureParts(undefined)), ...more };
  const drawn = { ...request, pictures: [], notes: [] };
  return imageInfotext({ request, drawn, facts: imageFacts, product: { name: 'Parley', version: '1' } }, 7);
}

describe('imageInfotext', () => {
  test('leaves out default values', () => {
    expect(textOf({})).toBe(
      'a boat\nSteps: 20, Sampler: Euler, CFG scale: 5, Seed: 7, Size: 512x512, Model hash: abcdefabcd, Model: sketch, Version: Parley 1',
    );
  });

  test('has the scheduler if it is not the default of the model', () => {
    expect(textOf({ scheduler: 'karras' })).toContain('Sampler: Euler, Schedule type: karras, CFG scale');
    expect(chosenScheduler({ scheduler: '' }, imageFacts)).toBeUndefined();
  });

  test('has the strength of an initial picture', () => {
    expect(textOf({ strength: 0.4, clipSkip: 2 }, { initial: pngOf(4, 4) })).toContain(
      'Denoising strength: 0.4, Clip skip: 2',
    );
    expect(textOf({ strength: 0.4 })).not.toContain('Denoising');
  });

  test('modelHash: has a fixed value if none is known', () => {
    expect(modelHash({ sha256: '0123456789abcdef' })).toBe('0123456789');
    expect(modelHash({})).toBe('8888888888');
  });
});
