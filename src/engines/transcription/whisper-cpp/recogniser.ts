import { languageCodes } from '../../../core/languages.ts';
import type { RecogniserOptions } from '../host.ts';
import type { Recogniser } from '../recogniser.ts';
import { openAddon } from './addon.ts';
import { chooseBuild } from './choose.ts';
import type { WhisperDriver } from './driver.ts';
import { readWhisperHeader } from './model-file.ts';
import { spokenWords, wholeSegments } from './segments.ts';

/** Watchdog time-out of a chunk. */
const chunkTimeoutMs = 5 * 60_000;

/** Recogniser with whisper.cpp: many languages, translation, word timestamps. */
export async function openWhisper(
  { model, name, threads, cpuOnly }: RecogniserOptions & { type: 'whisper' },
  note: (text: string) => void,
): Promise<Recogniser> {
  const { multilingual } = await readWhisperHeader(model);
  const build = chooseBuild({ cpuOnly, note });
  // Imported on demand: FFI is not needed with the addon.
  const driver =
    build.type === 'addon'
      ? openAddon(build.addon, model, build.gpu)
      : await (await import('./library.ts')).openLibrary(build.folder, model);
  return whisperRecogniser(driver, { name, threads, multilingual });
}

export function whisperRecogniser(
  driver: WhisperDriver,
  { name, threads, multilingual }: { readonly name: string; readonly threads: number; readonly multilingual: boolean },
): Recogniser {
  return {
    facts: { name, languages: multilingual ? languageCodes : ['en'], translates: multilingual },
    // Whisper's window is 30 seconds; it would cut longer audio at worse positions.
    longestSeconds: 29,
    timeoutMs: () => chunkTimeoutMs,
    notes: ({ suppressNonSpeech }) =>
      suppressNonSpeech && !driver.suppressesNonSpeech
        ? [`suppress_non_speech has no effect: ${name} decides for itself`]
        : [],
    recognise: async (samples, { language, translate, prompt, temperature, words, suppressNonSpeech }, signal) => {
      const task = {
        language: language ?? (multilingual ? 'auto' : 'en'),
        ...{ translate, prompt, temperature, words, suppressNonSpeech, threads },
      };
      const result = await driver.transcribe(samples, task, signal);
      const segments = words ? spokenWords(result) : wholeSegments(result);
      const heard = multilingual ? (result.language ?? language ?? 'en') : 'en';
      return { text: segments.map(({ text }) => text).join(''), language: heard, segments };
    },
    close: () => driver.close(),
  };
}
