import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Voice } from '../core/speech.ts';
import { anyCharacter } from '../core/testing/any-character.ts';
import type { JsonObject } from '../http/body.ts';
import { optionalText, readFields } from './fields.ts';
import {
  chooseVoice,
  exactVoice,
  readVoiceName,
  speechOf,
  spokenFields,
  spokenText,
  wordCount,
} from './spoken-text.ts';
import { scriptedSpeech, testVoices } from './testing/spoken.ts';

const { speech } = scriptedSpeech();
const fields = { ...spokenFields, instructions: { read: optionalText }, lang_code: { read: optionalText } };
const read = async (body: JsonObject) => spokenText(readFields(fields, body), speech);
const spoken = async (body: JsonObject) => (await read(body)).spoken;

describe('spokenText', () => {
  test('has defaults for all fields', async () => {
    expect(await read({ input: ' Hello. ' })).toEqual({
      spoken: { text: 'Hello.', instruction: '', voice: 'slt', language: '', seed: -1 },
      notes: [],
    });
  });

  test('reads input before text', async () => {
    expect((await spoken({ text: 'a' })).text).toBe('a');
    expect((await spoken({ text: 'a', input: 'b' })).text).toBe('b');
  });

  test('reads voice before speaker_wav', async () => {
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
  ])('takes off an instruction in brackets: %j', async (input, text, instruction) => {
    expect(await spoken({ input })).toMatchObject({ text, instruction });
  });

  test('keeps brackets if there is an instruction field', async () => {
    const sent = { input: '[sic] Hello.', instruction: 'sing' };
    expect(await spoken(sent)).toMatchObject({ text: '[sic] Hello.', instruction: 'sing' });
    expect(await spoken({ input: 'a', instructions: 'hum' })).toMatchObject({ instruction: 'hum' });
  });

  test('reads both names of language, and the seed', async () => {
    expect(await spoken({ input: 'a', language: 'de', seed: '7' })).toMatchObject({ language: 'de', seed: 7 });
    expect(await spoken({ input: 'a', lang_code: 'fr' })).toMatchObject({ language: 'fr' });
  });

  test('has a note about a sample', async () => {
    expect((await read({ input: 'a', voice: 'aunt.wav' })).notes).toHaveLength(1);
  });
});

describe('refuses', () => {
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

  test('accepts a text of exactly the allowed length', async () => {
    expect((await spoken({ input: 'word '.repeat(50) })).text).toHaveLength(249);
  });

  test('speechOf: refused without a speech engine', () => {
    expect(() => speechOf({})).toThrow('No text-to-speech model is loaded. Start the server with --ttsmodel FILE.');
    expect(() => speechOf({ taskServices: {} })).toThrow(/No text-to-speech model/);
    expect(speechOf({ taskServices: { speech } })).toBe(speech);
  });
});

const own = ['slt', 'rms', 'awb'];
const chosen = (name: string, voices: readonly Voice[] = testVoices): string => chooseVoice(name, voices).voice;

describe('chooseVoice', () => {
  test.each([
    ['', 'slt'],
    ['  ', 'slt'],
    ['rms', 'rms'],
    [' RMS ', 'rms'],
    ['rms.wav', 'rms'],
    ['2', 'rms'],
    ['3', 'awb'],
  ])('%j gives %s', (name, voice) => {
    expect(chooseVoice(name, testVoices)).toEqual({ voice, notes: [] });
  });

  test('known names of other products have a voice of the same sound', () => {
    for (const name of ['alloy', 'nova', 'shimmer', 'coral', 'sage', 'marin', 'cheery'])
      expect(chosen(name)).toBe('slt');
    expect(chosen('onyx')).toBe('rms');
    expect(chosen('echo')).toBe('awb');
    expect(chosen('Ash')).toBe('rms');
    expect(chosen('kobo')).not.toBe('slt');
  });

  test('known names mean any voice if the sounds are not known', () => {
    const plain = own.map((name) => ({ name, language: 'en', description: '' }));
    expect(chosen('alloy', plain)).toBe('slt');
    expect(chosen('nova', plain)).toBe('rms');
    expect(chosen('shimmer', plain)).toBe('awb');
    expect(chosen('coral', plain)).toBe('slt');
  });

  test('a voice of the engine wins over a known name', () => {
    const voices = [...testVoices, { name: 'echo', language: 'en', description: '' }];
    expect(chosen('echo', voices)).toBe('echo');
  });

  test('a sample has a note and always the same voice', () => {
    const first = chooseVoice('aunt.wav', testVoices);
    expect(own).toContain(first.voice);
    expect(first.notes).toEqual([
      `The sample aunt.wav cannot be imitated by this engine; ${first.voice} speaks instead.`,
    ]);
    expect(chooseVoice('aunt', testVoices)).toEqual(first);
  });

  test('any other name always has the same voice', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (name) => {
        expect(own).toContain(chosen(name));
        expect(chosen(name)).toBe(chosen(name));
      }),
    );
  });

  test('other names are spread over all voices', () => {
    const names = Array.from({ length: 60 }, (_, index) => `somebody ${index}`);
    expect(new Set(names.map((name) => chosen(name)))).toEqual(new Set(own));
  });

  test('a position outside of the list is a name', () => {
    expect(own).toContain(chosen('99'));
    expect(chosen('0')).toBe(chosen('0'));
  });

  test('no voice without voices', () => {
    expect(chosen('x', [])).toBe('');
  });
});

describe('exactVoice', () => {
  const named: readonly Voice[] = [
    { name: 'af_heart', language: 'en', description: '', sound: 'female' },
    { name: 'am_echo', language: 'en', description: '', sound: 'male', aliases: ['echo'] },
    { name: 'aunt.wav', language: '', description: '', sample: true },
  ];
  const exact = (name: string) => exactVoice(name, named).voice;

  test.each([
    ['', 'af_heart'],
    ['AF_Heart', 'af_heart'],
    ['echo', 'am_echo'],
    ['2', 'am_echo'],
    ['nova', 'af_heart'],
    ['onyx', 'am_echo'],
    ['kobo', 'am_echo'],
    ['slt', 'af_heart'],
    ['af_heart+am_echo', 'af_heart+am_echo'],
    ['af_heart(2)+echo(1)', 'af_heart(2)+am_echo(1)'],
    [' af_heart ( 0.5 ) + am_echo ', 'af_heart(0.5)+am_echo'],
  ])('%j gives %s', (name, voice) => {
    expect(exact(name)).toBe(voice);
  });

  test('a sample has a note', () => {
    expect(exactVoice('aunt.wav', named).notes).toHaveLength(1);
  });

  test.each(['nobody', '99', 'af_heart+nobody', 'af_heart+', '+', 'af_heart(0)+am_echo', 'af_heart(x)', 'nova+echo'])(
    'refuses %j with the list of voices',
    (name) => {
      expect(() => exact(name)).toThrow(
        'voice must be one of af_heart, am_echo, or a mixture of them such as af_heart(2)+am_echo.',
      );
    },
  );

  test('spokenText: uses it where the service says so, and names the field', async () => {
    const service = { ...speech, exactVoices: true, voices: async () => named };
    const asked = (body: JsonObject) => spokenText(readFields(fields, body), service);
    expect((await asked({ input: 'a', voice: 'echo' })).spoken.voice).toBe('am_echo');
    await expect(asked({ input: 'a', speaker_wav: 'nobody' })).rejects.toThrow(/^speaker_wav must be one of/);
  });
});

describe('readVoiceName', () => {
  test.each([
    ['nova', 'nova'],
    [3, '3'],
    [{ id: 'nova' }, 'nova'],
    [{ name: 'nova' }, 'nova'],
  ])('%j', (value, name) => {
    expect(readVoiceName(value, 'voice')).toBe(name);
  });

  test.each([[[]], [{}], [true], [{ id: 3 }], [null]])('refuses %j', (value) => {
    expect(() => readVoiceName(value, 'voice')).toThrow('voice must be the name of a voice, or an object with its id.');
  });
});

describe('wordCount', () => {
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
  ])('%.20j has %i words', (text, count) => {
    expect(wordCount(text)).toBe(count);
  });

  test('grows with the text, never faster than its characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.string({ unit: anyCharacter }), (one, two) => {
        expect(wordCount(`${one} ${two}`)).toBe(wordCount(one) + wordCount(two));
        expect(wordCount(one)).toBeLessThanOrEqual(one.length);
        expect(wordCount(one)).toBeGreaterThanOrEqual(Math.floor(one.replace(/\s/g, '').length / 40));
      }),
    );
  });
});
