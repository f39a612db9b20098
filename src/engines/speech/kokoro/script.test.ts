import { describe, expect, test } from 'vitest';
import { normalizedFor } from './kokoro.ts';

describe('readableBy', () => {
  test('English: numbers are read, nothing is lost', () => {
    expect(normalizedFor('en-us', 'It costs $5, naïve café.')).toEqual({
      text: 'It costs five dollars, naïve café.',
      notes: [],
    });
  });

  test('other languages: numbers stay, for eSpeak', () => {
    expect(normalizedFor('es', 'Tengo 25 años.').text).toBe('Tengo 25 años.');
    expect(normalizedFor('hi', 'मेरे पास 25 किताबें हैं।').notes).toEqual([]);
  });

  test('letters of another script are left out, with a note', () => {
    expect(normalizedFor('en-us', 'Tokyo is 東京.')).toEqual({
      text: 'Tokyo is.',
      notes: ['2 characters are not spoken: the voice does not know their script.'],
    });
  });

  test('a text in another script is refused', () => {
    expect(() => normalizedFor('en-gb', '日本語です。')).toThrow(/does not know its script.*--ttsmodel/);
    expect(() => normalizedFor('fr', 'नमस्ते')).toThrow(/does not know its script/);
  });

  test.each(['...', '🙂', '— !'])('%s is silence', (text) => {
    expect(normalizedFor('en-us', text).notes).toEqual([]);
  });
});
