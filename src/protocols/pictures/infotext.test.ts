import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { infotext, parseInfotext } from './infotext.ts';

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

describe('the text in a picture', () => {
  test('is the prompts, and a line of pairs', () => {
    expect(infotext(story)).toBe(
      'a lighthouse at dusk\nNegative prompt: blurry\nSteps: 20, Sampler: Euler a, CFG scale: 5, Seed: 417203, Size: 512x640, Model: demo',
    );
  });

  test('has no line for a negative prompt that is empty', () => {
    expect(infotext({ ...story, negativePrompt: '' }).split('\n')).toHaveLength(2);
  });

  test('quotes what would be read as another pair', () => {
    expect(infotext({ ...story, entries: [['Model', 'a, b: c']] })).toContain('Model: "a, b: c"');
  });

  test('is read again', () => {
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

  test('keeps the lines of the prompts apart', () => {
    const text = infotext({ ...story, prompt: 'one\ntwo', negativePrompt: 'three\nfour' });
    expect(parseInfotext(text)).toMatchObject({ Prompt: 'one\ntwo', 'Negative prompt': 'three\nfour' });
  });

  test('has no pairs where its last line is just words', () => {
    expect(parseInfotext('a boat\nby night: dark, calm')).toEqual({
      Prompt: 'a boat\nby night: dark, calm',
      'Negative prompt': '',
    });
    expect(parseInfotext('')).toEqual({ Prompt: '', 'Negative prompt': '' });
  });

  test('gives back every value that was written', () => {
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

  test('of a million characters is read in one walk', () => {
    expect(Object.keys(parseInfotext(`p\n${'a'.repeat(1_000_000)}`))).toEqual(['Prompt', 'Negative prompt']);
    expect(Object.keys(parseInfotext(`p\n${'a: b, '.repeat(100_000)}`))).toEqual(['Prompt', 'Negative prompt', 'a']);
  });
});
