import { open } from 'node:fs/promises';
import { languageCodes } from '../../../core/languages.ts';
import type { RecogniserOptions } from '../host.ts';
import type { Recogniser } from '../recogniser.ts';
import { openAddon } from './addon.ts';
import { chooseBuild } from './choose.ts';
import { spokenWords, type WhisperDriver, wholeSegments } from './driver.ts';

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
    maxChunkSeconds: 29,
    timeoutMs: () => chunkTimeoutMs,
    notes: ({ suppressNonSpeech }) =>
      suppressNonSpeech && !driver.suppressesNonSpeech
        ? [`suppress_non_speech has no effect: ${name} decides for itself`]
        : [],
    recognise: async (samples, { language, translate, prompt, temperature, words, suppressNonSpeech }, signal) => {
      const task = {
        language: language ?? (multilingual ? 'auto' : 'en'),
        translate,
        prompt,
        temperature,
        words,
        suppressNonSpeech,
        threads,
      };
      const result = await driver.transcribe(samples, task, signal);
      const segments = words ? spokenWords(result) : wholeSegments(result);
      const spokenLanguage = multilingual ? (result.language ?? language ?? 'en') : 'en';
      return { text: segments.map(({ text }) => text).join(''), language: spokenLanguage, segments };
    },
    close: () => driver.close(),
  };
}

/** Vocabulary sizes of the models. Multilingual ones can also translate; the others are English only. */
const vocabularies = { english: 51_864, multilingual: [51_865, 51_866] };

const magic = 0x67676d6c;

/** Reads the header of a model (`ggml-*.bin`). Rejects other files, before native code reads them. */
export async function readWhisperHeader(path: string): Promise<{ readonly multilingual: boolean }> {
  const file = await open(path);
  try {
    const head = Buffer.alloc(48);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    if (bytesRead < head.length || head.readUInt32LE(0) !== magic) {
      throw new Error('it is no Whisper model of whisper.cpp (a file like ggml-base.bin)');
    }
    const tokens = head.readInt32LE(4);
    const multilingual = vocabularies.multilingual.includes(tokens);
    if (multilingual || tokens === vocabularies.english) return { multilingual };
    throw new Error(`it is no Whisper model that is known here (${tokens} tokens)`);
  } finally {
    await file.close();
  }
}
