import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { textOf } from '../story/story.ts';
import { counting } from '../story/testing/stories.ts';
import { unpackLzma } from './lzma.ts';
import { storyOfShared } from './shared-form.ts';
import { Unreadable } from './unreadable.ts';

/** Compressed with xz: a save with an end marker, the same with its size in the header, and a text with other properties. */
const openEnd =
  'XQAAgAD//////////wA9iIjmVDbEKbLoY9StGeUkQmrkEehjPzhtlyr7beO0X5ifx3d3CI9xCLBaEAHpp1EE4KsnK+is1WNY0eNAMMPmvLSktmH//aqH1DFfNnZrspeSVG8U+6PJYcMmiUGJ62VRmIXjYqmz0WkS9JwdxYrsQh/RZ75Fh4rRG+4Ui1VYfd3mITRAUbQnCMf/8U54SA==';
const sized =
  'XQAAgABTAQAAAAAAAAA9iIjmVDbEKbLoY9StGeUkQmrkEehjPzhtlyr7beO0X5ifx3d3CI9xCLBaEAHpp1EE4KsnK+is1WNY0eNAMMPmvLSktmH//aqH1DFfNnZrspeSVG8U+6PJYcMmiUGJ62VRmIXjYqmz0WkS9JwdxYrsQh/RZ75Fh4rRG+4Ui1VYfd3mITRAUbQnCMf/8U54SA==';
const otherProperties = 'EgAAEAD//////////wAwmU2il3p9eLSWjOblNxtmhAx7//+MSAAA';

const bytes = (base64: string): Uint8Array => Uint8Array.from(atob(base64), (byte) => byte.charCodeAt(0));
const unpacked = (base64: string, most = 100_000): string => new TextDecoder().decode(unpackLzma(bytes(base64), most));

describe('unpackLzma', () => {
  test('decompresses with a size in the header or an end marker', () => {
    expect(JSON.parse(unpacked(openEnd))).toMatchObject({ prompt: 'The fox ran. ', memory: 'A fable über Füchse.' });
    expect(unpacked(sized)).toBe(unpacked(openEnd));
  });

  test('supports other properties', () => {
    expect(unpacked(otherProperties)).toBe('abcabcabcabc hello hello hello '.repeat(4));
  });

  test('throws if the result is too large', () => {
    expect(() => unpacked(openEnd, 100)).toThrow('too large');
    expect(() => unpacked(sized, 100)).toThrow('too large');
  });

  test('throws for truncated data', () => {
    const whole = bytes(sized);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: whole.length - 8 }), (length) => {
        expect(() => unpackLzma(whole.subarray(0, length), 100_000)).toThrow(Unreadable);
      }),
    );
  });

  test('never hangs on damaged data', () => {
    const whole = bytes(openEnd);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: whole.length - 1 }), fc.integer({ min: 0, max: 255 }), (at, value) => {
        const changed = Uint8Array.from(whole);
        changed[at] = value;
        try {
          expect(unpackLzma(changed, 50_000).length).toBeLessThanOrEqual(50_000);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(Unreadable);
        }
      }),
    );
  });
});

test('storyOfShared: reads a compressed KoboldAI Lite save', () => {
  const story = storyOfShared({ data: openEnd }, counting(), 2);
  expect(story.memory).toBe('A fable über Füchse.');
  expect(story.passages.map(textOf).join('')).toBe(`The fox ran. ${'It ran and ran, and ran again. '.repeat(6)}`);
});
