import { languageCodes } from '../../../../core/languages.ts';
import type { RecogniserOptions } from '../../messages.ts';
import type { Recogniser } from '../recogniser.ts';
import { loadWhisperAddon } from './addon.ts';
import { readWhisperHeader } from './header.ts';
import { spokenWords, wholeSegments } from './words.ts';

/** A piece that takes longer than this on any machine is stuck. */
const longestMs = 15 * 60_000;

/** A model of whisper.cpp, in this process: many languages, translation, times of words. */
export async function openWhisper(
  { model, name, threads, cpuOnly }: RecogniserOptions & { type: 'whisper' },
  note: (text: string) => void,
): Promise<Recogniser> {
  const { multilingual } = await readWhisperHeader(model);
  const { addon, gpu } = loadWhisperAddon({ cpuOnly, note });
  const context = new addon.WhisperContext({ filePath: model, useGpu: gpu, useFlashAttn: true });
  return {
    facts: { name, languages: multilingual ? languageCodes : ['en'], translates: multilingual },
    // It always hears half a minute; what is longer would be cut by it, and less well.
    longestSeconds: 29,
    patienceMs: () => longestMs,
    notes: ({ suppressNonSpeech }) =>
      suppressNonSpeech ? [`suppress_non_speech has no effect: ${name} decides for itself`] : [],
    recognise: async (samples, { language, translate, prompt, temperature, words }, signal) => {
      const running = context.transcribeData(sixteenBits(samples), {
        language: language ?? (multilingual ? 'auto' : 'en'),
        translate,
        maxThreads: threads,
        temperature,
        ...(prompt ? { prompt } : {}),
        ...(words ? { tokenTimestamps: true, maxLen: 1 } : {}),
      });
      const stop = () => void running.stop();
      signal.addEventListener('abort', stop, { once: true });
      try {
        const result = await running.promise;
        const segments = words ? spokenWords(result) : wholeSegments(result);
        const heard = multilingual ? (result.language ?? language ?? 'en') : 'en';
        return { text: segments.map(({ text }) => text).join(''), language: heard, segments };
      } finally {
        signal.removeEventListener('abort', stop);
      }
    },
    close: () => context.release(),
  };
}

function sixteenBits(samples: Float32Array): ArrayBuffer {
  const whole = new Int16Array(samples.length);
  for (const [index, sample] of samples.entries()) whole[index] = Math.max(-1, Math.min(1, sample)) * 32_767;
  return whole.buffer;
}
