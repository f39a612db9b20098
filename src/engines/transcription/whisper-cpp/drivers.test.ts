import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { spoken } from '../../../../bench/spoken.ts';
import { writeDeafWhisper } from '../../../../test/models/whisper.ts';
import { languageCodes } from '../../../core/languages.ts';
import { packageFolder } from '../../package-folder.ts';
import type { Recogniser } from '../recogniser.ts';
import { plainTask } from '../testing/task.ts';
import { openAddon } from './addon.ts';
import { chooseBuild, libraryPackage } from './choose.ts';
import type { WhisperDriver } from './driver.ts';
import { openLibrary } from './library.ts';
import { whisperRecogniser } from './recogniser.ts';

/** The folder of libwhisper.so: of the pack, or of a build of the same version for this system. */
const libraryFolder = process.env.PARLEY_TEST_WHISPER_LIBRARY ?? folderOfPack();
if (libraryFolder === undefined) {
  console.log('The tests of whisper.cpp by FFI are skipped: the pack whisper-cpu is not installed.');
}
/** A real model, where somebody has one: `ggml-base.bin` and its like. One that means nothing writes for minutes. */
const real = process.env.PARLEY_TEST_WHISPER;

function folderOfPack(): string | undefined {
  const packs = process.env.PARLEY_TEST_PACKS;
  const folder = packs && join(packs, 'node_modules', libraryPackage);
  const isHere = process.platform === 'linux' && process.arch === 'x64';
  return folder && isHere && existsSync(folder) && chooseable(folder) ? join(folder, 'bins') : undefined;
}

function chooseable(folder: string): boolean {
  const parts = { cpuOnly: true, note: () => {}, load: () => ({}), find: () => folder };
  return chooseBuild(parts).type === 'library';
}

function openBuild(model: string): WhisperDriver {
  const build = chooseBuild({
    cpuOnly: true,
    note: () => {},
    find: (name) => (name === libraryPackage ? undefined : packageFolder(name)),
  });
  if (build.type !== 'addon') throw new Error('not the addon');
  return openAddon(build.addon, model, false);
}

const drivers: readonly (readonly [string, ((model: string) => WhisperDriver | Promise<WhisperDriver>) | undefined])[] =
  [
    // Loading it is tested with the whole server.
    ['addon', real === undefined ? undefined : openBuild],
    ['library', libraryFolder === undefined ? undefined : (model) => openLibrary(libraryFolder, model)],
  ];

const patient = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'parley-whisper-drivers-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe.each(drivers)('whisper.cpp: %s', (_, open) => {
  const skipped = open === undefined;
  const multilingual = real === undefined || !/\.en\b/.test(real);
  let recogniser: Recogniser;
  let sound: Float32Array;
  beforeAll(async () => {
    if (!open) return;
    const deaf = join(folder, 'ggml-deaf.bin');
    if (!real) writeDeafWhisper(deaf);
    recogniser = whisperRecogniser(await open(real ?? deaf), { name: 'test', threads: 2, multilingual });
    sound = await spoken('We meet at the station.');
  }, patient);
  afterAll(() => recogniser?.close?.());

  const never = new AbortController().signal;

  test.skipIf(skipped)(
    'loads the model, and an abort rejects with its reason',
    async () => {
      const gone = new AbortController();
      const running = recogniser.recognise(sound, { ...plainTask, language: 'en' }, gone.signal);
      gone.abort(new Error('gone'));
      await expect(running).rejects.toThrow('gone');
      await expect(recogniser.recognise(sound, plainTask, gone.signal)).rejects.toThrow('gone');
    },
    patient,
  );

  test.skipIf(skipped || !real)(
    'has segments in order and a known language',
    async () => {
      const { text, language, segments = [] } = await recogniser.recognise(sound, plainTask, never);
      expect(languageCodes).toContain(language);
      expect(segments.map((segment) => segment.text).join('')).toBe(text);
      for (const { start, end } of segments) expect(end).toBeGreaterThanOrEqual(start);
      expect(segments.every(({ words }) => words === undefined)).toBe(true);
      expect(text.toLowerCase()).toContain('meet at the station');
    },
    patient,
  );

  test.skipIf(skipped || !real)(
    'after that, has word times on request, with a language and a prompt',
    async () => {
      const asked = { ...plainTask, words: true, language: 'en', prompt: 'A journey. Stations, trains.' };
      const { language, segments = [] } = await recogniser.recognise(sound, asked, never);
      expect(language).toBe('en');
      const words = segments.flatMap((segment) => segment.words ?? []);
      for (const { word, start, end } of words) {
        expect(word.trim()).toBe(word);
        expect(end).toBeGreaterThanOrEqual(start);
      }
      expect(words.map(({ word }) => word)).toContain('station.');
    },
    patient,
  );
});
