import { languageCodes } from '../../../../core/languages.ts';
import { orGone } from '../../../../core/or-gone.ts';
import type { RecogniserOptions } from '../../messages.ts';
import type { Recogniser } from '../recogniser.ts';
import { loadWhisperAddon } from './addon.ts';
import { readWhisperHeader } from './header.ts';
import { spokenWords, wholeSegments } from './words.ts';

/** A piece that takes longer than this on any machine is stuck. */
const longestMs = 5 * 60_000;

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
      const result = await unlessStopped(running, signal);
      const segments = words ? spokenWords(result) : wholeSegments(result);
      const heard = multilingual ? (result.language ?? language ?? 'en') : 'en';
      return { text: segments.map(({ text }) => text).join(''), language: heard, segments };
    },
    close: () => context.release(),
  };
}

/** The addon never settles the promise of a run that it was told to stop; what comes next waits for its end by itself. */
export async function unlessStopped<Result>(
  { promise, stop }: { readonly promise: Promise<Result>; stop(): Promise<void> },
  signal: AbortSignal,
): Promise<Result> {
  try {
    return await orGone(promise, signal);
  } catch (error) {
    if (signal.aborted) await stop();
    throw error;
  }
}

function sixteenBits(samples: Float32Array): ArrayBuffer {
  const whole = new Int16Array(samples.length);
  for (const [index, sample] of samples.entries()) whole[index] = Math.max(-1, Math.min(1, sample)) * 32_767;
  return whole.buffer;
}
