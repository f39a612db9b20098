import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Voice } from '../core/speech.ts';
import type { JsonObject } from '../http/body.ts';
import { optionalText } from './fields/readers.ts';
import { readFields } from './fields/table.ts';
import { chooseVoice, readVoiceName, speechOf, spokenFields, spokenText, wordCount } from './spoken-text.ts';
import { scriptedSpeech, testVoices } from './testing/spoken.ts';

const { speech } = scriptedSpeech();
const fields = { ...spokenFields, instructions: { read: optionalText }, lang_code: { read: optionalText } };
const read = async (body: JsonObject) => spokenText(readFields(fields, body), speech);
const spoken = async (body: JsonObject) => (await read(body)).spoken;

describe('what is to be spoken', () => {
  test('is complete whatever was left out', async () => {
    expect(await read({ input: ' Hello. ' })).toEqual({
      spoken: { text: 'Hello.', instruction: '', voice: 'slt', language: '', seed: -1 },
      notes: [],
    });
  });

  test('has two names for its text, of which input wins', async () => {
    expect((await spoken({ text: 'a' })).text).toBe('a');
    expect((await spoken({ text: 'a', input: 'b' })).text).toBe('b');
  });

  test('has two names for its voice, of which voice wins', async () => {
    expect((await spoken({ input: 'a', speaker_wav: 'rms' })).voice).toBe('rms');
    expect((await spoken({ input: 'a', speaker_wav: 'rms', voice: 'awb' })).voice).toBe('awb');
    expect((await spoken({ input: 'a', voice: { id: 'awb' } })).voice).toBe('awb');
  });

  test.each([
    ['[softly] Good night.', 'Good night.', 'softly'],
    ['[softly]\nGood\nnight.', 'Good\nnight.', 'softly'],
    ['[softly]', '[softly]', ''],
    ['[] Hello.', '[] Hello.', ''],
    ['Hello [you].', 'Hello [you].', ''],
  ])('takes an instruction in brackets off: %j', async (input, text, instruction) => {
    expect(await spoken({ input })).toMatchObject({ text, instruction });
  });

  test('leaves brackets alone where the instruction is sent beside it', async () => {
    const sent = { input: '[sic] Hello.', instruction: 'sing' };
    expect(await spoken(sent)).toMatchObject({ text: '[sic] Hello.', instruction: 'sing' });
    expect(await spoken({ input: 'a', instructions: 'hum' })).toMatchObject({ instruction: 'hum' });
  });

  test('has a language under two names, and a seed', async () => {
    expect(await spoken({ input: 'a', language: 'de', seed: '7' })).toMatchObject({ language: 'de', seed: 7 });
    expect(await spoken({ input: 'a', lang_code: 'fr' })).toMatchObject({ language: 'fr' });
  });

  test('tells of a sample', async () => {
    expect((await read({ input: 'a', voice: 'aunt.wav' })).notes).toHaveLength(1);
  });
});

describe('what cannot be spoken is refused', () => {
  test.each([
    [{}, 'input must be a text that is to be spoken.'],
    [{ input: ' \n' }, 'input must be a text that is to be spoken.'],
    [{ text: '' }, 'text must be a text that is to be spoken.'],
    [{ input: 5 }, 'input must be a string.'],
    [{ input: 'a', language: 1 }, 'language must be a string.'],
    [{ input: 'a', voice: [] }, 'voice must be the name of a voice, or an object with its id.'],
    [{ input: 'word '.repeat(51) }, 'input must be at most 50 words long (--ttsmaxlen), and this is 51.'],
  ])('%.60j', async (body, sentence) => {
    await expect(read(body)).rejects.toThrow(sentence);
  });

  test('a text of just the length that is allowed is spoken', async () => {
    expect((await spoken({ input: 'word '.repeat(50) })).text).toHaveLength(249);
  });

  test('nothing is spoken where nobody can', () => {
    expect(() => speechOf({})).toThrow('No text-to-speech model is loaded. Start the server with --ttsmodel FILE.');
    expect(() => speechOf({ others: {} })).toThrow(/No text-to-speech model/);
    expect(speechOf({ others: { speech } })).toBe(speech);
  });
});

const own = ['slt', 'rms', 'awb'];
const chosen = (name: string, voices: readonly Voice[] = testVoices): string => chooseVoice(name, voices).voice;

describe('a voice by its name', () => {
  test.each([
    ['', 'slt'],
    ['  ', 'slt'],
    ['rms', 'rms'],
    [' RMS ', 'rms'],
    ['rms.wav', 'rms'],
    ['2', 'rms'],
    ['3', 'awb'],
  ])('%j is %s', (name, voice) => {
    expect(chooseVoice(name, testVoices)).toEqual({ voice, notes: [] });
  });

  test('names that clients know have a voice of the same sound', () => {
    for (const name of ['alloy', 'nova', 'shimmer', 'coral', 'sage', 'marin', 'cheery'])
      expect(chosen(name)).toBe('slt');
    expect(chosen('onyx')).toBe('rms');
    expect(chosen('echo')).toBe('awb');
    expect(chosen('Ash')).toBe('rms');
    expect(chosen('kobo')).not.toBe('slt');
  });

  test('the same names mean any voice where nothing tells how they sound', () => {
    const plain = own.map((name) => ({ name, language: 'en', description: '' }));
    expect(chosen('alloy', plain)).toBe('slt');
    expect(chosen('nova', plain)).toBe('rms');
    expect(chosen('shimmer', plain)).toBe('awb');
    expect(chosen('coral', plain)).toBe('slt');
  });

  test('a name of the engine wins over one that clients know', () => {
    const voices = [...testVoices, { name: 'echo', language: 'en', description: '' }];
    expect(chosen('echo', voices)).toBe('echo');
  });

  test('a sample is told not to be imitated, and always has the same voice', () => {
    const first = chooseVoice('aunt.wav', testVoices);
    expect(own).toContain(first.voice);
    expect(first.notes).toEqual([
      `The sample aunt.wav cannot be imitated by this engine; ${first.voice} speaks instead.`,
    ]);
    expect(chooseVoice('aunt', testVoices)).toEqual(first);
  });

  test('any other name has a voice, the same each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (name) => {
        expect(own).toContain(chosen(name));
        expect(chosen(name)).toBe(chosen(name));
      }),
    );
  });

  test('other names are spread over all voices', () => {
    const names = Array.from({ length: 60 }, (_, index) => `somebody ${index}`);
    expect(new Set(names.map((name) => chosen(name)))).toEqual(new Set(own));
  });

  test('a position that is not in the list is a name like any other', () => {
    expect(own).toContain(chosen('99'));
    expect(chosen('0')).toBe(chosen('0'));
  });

  test('nobody speaks where nobody is', () => {
    expect(chosen('x', [])).toBe('');
  });
});

describe('the name that a request sends', () => {
  test.each([
    ['nova', 'nova'],
    [3, '3'],
    [{ id: 'nova' }, 'nova'],
    [{ name: 'nova' }, 'nova'],
  ])('%j', (value, name) => {
    expect(readVoiceName(value, 'voice')).toBe(name);
  });

  test.each([[[]], [{}], [true], [{ id: 3 }], [null]])('%j is refused', (value) => {
    expect(() => readVoiceName(value, 'voice')).toThrow('voice must be the name of a voice, or an object with its id.');
  });
});

describe('how long a text is to whoever must say it', () => {
  test.each([
    ['', 0],
    ['   \n ', 0],
    ['Hello', 1],
    ['Hello, my friend!', 3],
    ["don't  stop", 2],
    ['你好世界', 4],
    ['こんにちは', 5],
    ['hello 世界', 3],
    ['สวัสดี', 6],
    ['Привет, мир', 2],
    ['a'.repeat(20), 1],
    ['a'.repeat(21), 2],
    ['a'.repeat(100_000), 5000],
  ])('%.20j is %i words', (text, count) => {
    expect(wordCount(text)).toBe(count);
  });

  test('it grows with the text, and never faster than its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, two) => {
        expect(wordCount(`${one} ${two}`)).toBe(wordCount(one) + wordCount(two));
        expect(wordCount(one)).toBeLessThanOrEqual(one.length);
        expect(wordCount(one)).toBeGreaterThanOrEqual(Math.floor(one.replace(/\s/g, '').length / 40));
      }),
    );
  });
});
