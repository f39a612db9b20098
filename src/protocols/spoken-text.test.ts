import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../http/body.ts';
import { optionalText } from './fields/readers.ts';
import { readFields } from './fields/table.ts';
import { spokenFields } from './spoken-fields.ts';
import { speechOf, spokenText } from './spoken-text.ts';
import { scriptedSpeech } from './testing/spoken.ts';

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
