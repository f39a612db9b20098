import { describe, expect, test } from 'vitest';
import { piperMetadata, piperTokens, piperVoice, piperVoices } from './piper.ts';

const config = (own: object = {}): object => ({
  audio: { sample_rate: 22_050, quality: 'medium' },
  espeak: { voice: 'en-us' },
  language: { code: 'en_US' },
  phoneme_type: 'espeak',
  phoneme_id_map: { _: [0], '^': [1], ' ': [3], a: [14], '\n': [9], ɐ: 50 },
  ...own,
});

describe('a Piper voice', () => {
  test('says what the library wants to know', () => {
    expect(Object.fromEntries(piperMetadata(piperVoice(config(), 'lessac')))).toEqual({
      model_type: 'vits',
      comment: 'piper',
      language: 'en',
      voice: 'en-us',
      has_espeak: '1',
      n_speakers: '1',
      sample_rate: '22050',
    });
  });

  test('has its symbols on lines, with the space as one of them', () => {
    expect(piperTokens(piperVoice(config(), 'lessac'))).toBe('_ 0\n^ 1\n  3\na 14\nɐ 50\n');
  });

  test('with one speaker is called by its own name', () => {
    expect(piperVoices(piperVoice(config(), 'lessac'), 'lessac')).toEqual([
      { name: 'lessac', language: 'en', description: 'Piper voice lessac' },
    ]);
  });

  test('with many speakers has their names, in the order of their numbers', () => {
    const many = piperVoice(config({ num_speakers: 3, speaker_id_map: { p2: 2, p0: 0 } }), 'vctk');
    expect(many.speakers).toEqual(['p0', 'vctk-1', 'p2']);
    expect(piperMetadata(many).get('n_speakers')).toBe('3');
  });

  test.each([
    [{ language: { code: 'de_DE' } }, 'de'],
    [{ language: undefined }, 'en'],
    [{ language: { code: 'PT-br' } }, 'pt'],
  ])('knows its language: %j', (own, language) => {
    expect(piperVoice(config(own), 'v').language).toBe(language);
  });

  test('is one without a type of phonemes: older files have none', () => {
    expect(piperVoice(config({ phoneme_type: undefined }), 'v').espeakVoice).toBe('en-us');
  });
});

describe('what is no Piper voice', () => {
  test.each([
    ['nothing', null, /not that of a Piper voice/],
    ['a list', [], /not that of a Piper voice/],
    ['no rate', config({ audio: {} }), /not that of a Piper voice/],
    ['no symbols', config({ phoneme_id_map: {} }), /not that of a Piper voice/],
    ['symbols without numbers', config({ phoneme_id_map: { a: ['x'] } }), /not that of a Piper voice/],
    ['phonemes of another kind', config({ phoneme_type: 'text' }), /phonemes of eSpeak/],
    ['no voice of eSpeak', config({ espeak: {} }), /phonemes of eSpeak/],
  ])('%s', (_, value, reason) => {
    expect(() => piperVoice(value, 'v')).toThrow(reason);
  });
});
