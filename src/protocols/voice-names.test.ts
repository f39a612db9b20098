import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Voice } from '../core/speech.ts';
import { testVoices } from './testing/spoken.ts';
import { chooseVoice, readVoiceName } from './voice-names.ts';

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
