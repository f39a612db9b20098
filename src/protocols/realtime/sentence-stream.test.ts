import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sentencesOf } from '../../engines/speech/sentences.ts';
import { isSpeakable, SentenceStream } from './sentence-stream.ts';

const pushed = (pieces: readonly string[]) => {
  const stream = new SentenceStream(sentencesOf);
  return { meanwhile: pieces.map((piece) => stream.push(piece)), rest: stream.end() };
};

describe('SentenceStream', () => {
  test('a sentence is complete when the next one begins', () => {
    const { meanwhile, rest } = pushed(['Hel', 'lo there', '. ', 'How', ' are you? I', "'m fine."]);
    expect(meanwhile).toEqual([[], [], [], ['Hello there. '], ['How are you? '], []]);
    expect(rest).toEqual(["I'm fine."]);
  });

  test('an abbreviation or a number does not end a sentence', () => {
    const { meanwhile, rest } = pushed(['Dr. ', 'Smith paid 3.', '50 euros.', ' Then she left.']);
    expect([...meanwhile.flat(), ...rest]).toEqual(['Dr. Smith paid 3.50 euros. ', 'Then she left.']);
  });

  test('a first sentence is spoken in parts, at its first comma behind a few words', () => {
    const { meanwhile, rest } = pushed([
      'Once upon a time, in a ',
      'land, a girl lived',
      '. She, who was ',
      'young, sang.',
    ]);
    expect(meanwhile).toEqual([[], ['Once upon a time, in a land, '], ['a girl lived. '], []]);
    expect(rest).toEqual(['She, who was young, sang.']);
  });

  test('a long first sentence without a comma is spoken in parts, too', () => {
    expect(pushed(['word '.repeat(40)]).meanwhile[0]?.[0]?.length).toBeLessThanOrEqual(100);
  });

  test('nothing is lost or moved, however the text is cut', () => {
    const text = fc.array(fc.oneof(fc.constantFrom('. ', '! ', '\n', 'A', 'b ', '3.', ' “Yes?” '), fc.string()));
    fc.assert(
      fc.property(text, (pieces) => {
        const { meanwhile, rest } = pushed(pieces);
        expect([...meanwhile.flat(), ...rest].join('')).toBe(pieces.join(''));
      }),
    );
  });
});

test('isSpeakable: is false for punctuation alone', () => {
  expect(['Yes.', '42', '…', ' – ', '€'].map(isSpeakable)).toEqual([true, true, false, false, true]);
});
