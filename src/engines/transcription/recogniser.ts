import { open } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { languageCodes } from '../../core/languages.ts';
import type { Segment, TimedWord, TranscriptionFacts } from '../../core/transcription.ts';
import { unlessAborted } from '../../core/unless-aborted.ts';
import { packageFolder, wrongVersion } from '../package-folder.ts';
import { checkedWeights, weights } from '../weights.ts';
import type { RecogniserOptions, TranscriptionTask } from './host.ts';

/** Sample rate in Hz of all models. */
export const soundRate = 16_000;

export interface Recogniser {
  readonly facts: TranscriptionFacts;
  /** Longest chunk that it recognises well. */
  readonly longestSeconds: number;
  /** Watchdog time-out of a chunk. */
  patienceMs(seconds: number): number;
  /** Fields of the request that are ignored, as sentences. */
  notes(task: TranscriptionTask): readonly string[];
  /** Runs off the main thread. A result after an abort is ignored, because it may be partial. */
  recognise(samples: Float32Array, task: TranscriptionTask, signal: AbortSignal): Promise<Heard>;
  close?(): Promise<void> | void;
}

export interface Heard {
  readonly text: string;
  /** ISO 639-1. */
  readonly language: string;
  /** With times from the start of the chunk. Estimated if undefined. */
  readonly segments?: readonly Segment[];
}

/** The used part of `sherpa-onnx-node`, which has no types. */
interface Sherpa {
  readonly OfflineRecognizer: { createAsync(config: object): Promise<OfflineRecognizer> };
  readonly Vad: new (config: object, bufferSeconds: number) => Vad;
}

interface OfflineRecognizer {
  createStream(): { acceptWaveform(wave: { readonly samples: Float32Array; readonly sampleRate: number }): void };
  decodeAsync(stream: object): Promise<{ readonly text: string }>;
}

export interface Vad {
  acceptWaveform(samples: Float32Array): void;
  isEmpty(): boolean;
  /** Whether the current window is speech. */
  isDetected(): boolean;
  front(external: boolean): { readonly start: number; readonly samples: Float32Array };
  pop(): void;
  flush(): void;
  reset(): void;
}

/** Throws a clear error if there is no native package for this system. */
export function loadSherpa(): Sherpa {
  try {
    return createRequire(import.meta.url)('sherpa-onnx-node') as Sherpa;
  } catch (error) {
    const system = `${process.platform}-${process.arch}`;
    throw new Error(`sherpa-onnx-node could not be loaded on ${system}; run \`npm install\``, { cause: error });
  }
}

/** The model is too small to use more threads. */
const mostThreads = 4;

/** Built-in recogniser Moonshine-tiny: English only, ten times faster than real time. */
export async function openMoonshine(threads: number): Promise<Recogniser> {
  const { OfflineRecognizer } = loadSherpa();
  const [encoder, mergedDecoder, tokens] = await Promise.all([
    checkedWeights(weights.moonshineEncoder),
    checkedWeights(weights.moonshineDecoder),
    checkedWeights(weights.moonshineTokens),
  ]);
  const recogniser = await OfflineRecognizer.createAsync({
    modelConfig: {
      moonshine: { encoder, mergedDecoder },
      tokens,
      numThreads: Math.min(threads, mostThreads),
      provider: 'cpu',
      debug: 0,
    },
  });
  const name = 'moonshine-tiny';
  return {
    facts: { name, languages: ['en'], translates: false },
    longestSeconds: 25,
    patienceMs: (seconds) => 60_000 + seconds * 4000,
    notes: ({ prompt, temperature }) => [
      ...(prompt.trim() === '' ? [] : [`prompt has no effect: ${name} takes none`]),
      ...(temperature > 0 ? [`temperature has no effect: ${name} always writes what is most likely`] : []),
    ],
    recognise: async (samples) => {
      const stream = recogniser.createStream();
      stream.acceptWaveform({ samples, sampleRate: soundRate });
      const { text } = await recogniser.decodeAsync(stream);
      return { text: text.trim(), language: 'en' };
    },
  };
}

/** Watchdog time-out of a chunk. */
const longestChunkMs = 5 * 60_000;

/** Recogniser with whisper.cpp: many languages, translation, word timestamps. */
export async function openWhisper(
  { model, name, threads, cpuOnly }: RecogniserOptions & { type: 'whisper' },
  note: (text: string) => void,
): Promise<Recogniser> {
  const { multilingual } = await readWhisperHeader(model);
  const { addon, gpu } = loadWhisperAddon({ cpuOnly, note });
  const context = new addon.WhisperContext({ filePath: model, useGpu: gpu, useFlashAttn: true });
  return {
    facts: { name, languages: multilingual ? languageCodes : ['en'], translates: multilingual },
    // Whisper's window is 30 seconds; it would cut longer audio at worse positions.
    longestSeconds: 29,
    patienceMs: () => longestChunkMs,
    notes: ({ suppressNonSpeech }) =>
      suppressNonSpeech ? [`suppress_non_speech has no effect: ${name} decides for itself`] : [],
    recognise: async (samples, { language, translate, prompt, temperature, words }, signal) => {
      const running = context.transcribeData(sixteenBits(samples), {
        language: language ?? (multilingual ? 'auto' : 'en'),
        translate,
        maxThreads: threads,
        temperature,
        ...(prompt ? { prompt } : {}),
        // A segment per token.
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

/** The addon never settles the promise of a stopped run. */
export async function unlessStopped<Result>(
  { promise, stop }: { readonly promise: Promise<Result>; stop(): Promise<void> },
  signal: AbortSignal,
): Promise<Result> {
  try {
    return await unlessAborted(promise, signal);
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

export function wholeSegments({ segments }: WhisperResult): readonly Segment[] {
  return segments
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, t0, t1 }) => ({ text, start: t0 / 1000, end: Math.max(t0, t1) / 1000 }));
}

/** Joins segments of single tokens to words, which start with a space, and words to sentences. */
export function spokenWords({ segments }: WhisperResult): readonly Segment[] {
  const words: TimedWord[] = [];
  for (const { text, t0, t1 } of segments) {
    if (text === '') continue;
    const last = words.at(-1);
    const end = Math.max(t0, t1) / 1000;
    if (!last || text.startsWith(' ')) words.push({ word: text, start: t0 / 1000, end });
    else words[words.length - 1] = { word: last.word + text, start: last.start, end: Math.max(last.end, end) };
  }
  return sentences(words.filter(({ word }) => word.trim() !== ''));
}

function sentences(words: readonly TimedWord[]): readonly Segment[] {
  const found: TimedWord[][] = [];
  let open = false;
  for (const word of words) {
    if (!open) found.push([]);
    found.at(-1)?.push(word);
    open = !/[.!?。！？]["'”’)]*$/.test(word.word);
  }
  return found.map((sentence) => ({
    start: sentence[0]?.start ?? 0,
    end: sentence.at(-1)?.end ?? 0,
    text: sentence.map(({ word }) => word).join(''),
    words: sentence.map(({ word, ...times }) => ({ word: word.trim(), ...times })),
  }));
}

/** The used part of the addon, which has no types. */
interface WhisperAddon {
  readonly WhisperContext: new (options: object) => WhisperContext;
}

interface WhisperContext {
  /** 16-bit samples, 16 kHz, mono. */
  transcribeData(samples: ArrayBuffer, options: object): { promise: Promise<WhisperResult>; stop(): Promise<void> };
  release(): Promise<void>;
}

interface WhisperResult {
  readonly language?: string;
  /** Times in milliseconds. */
  readonly segments: readonly { readonly text: string; readonly t0: number; readonly t1: number }[];
}

/** GPU builds are packs. If an installed one does not load, the next is tried. */
const variants = ['-cuda', '-vulkan', ''] as const;

export interface AddonParts {
  /** Whether GPU builds are disabled. */
  readonly cpuOnly: boolean;
  readonly note: (text: string) => void;
  readonly find?: (name: string) => string | undefined;
  readonly load?: (folder: string) => unknown;
  readonly system?: Pick<NodeJS.Process, 'platform' | 'arch'>;
}

export function loadWhisperAddon(parts: AddonParts) {
  const { cpuOnly, note, find = packageFolder, load = createRequire(import.meta.url), system = process } = parts;
  const base = `@fugood/node-whisper-${system.platform}-${system.arch}`;
  for (const variant of cpuOnly ? ([''] as const) : variants) {
    const folder = find(`${base}${variant}`);
    if (folder === undefined) continue;
    try {
      const reason = wrongVersion(folder, `${base}${variant}`);
      if (reason !== undefined) throw new Error(reason);
      return { addon: load(folder) as WhisperAddon, gpu: variant !== '' };
    } catch (error) {
      const [reason] = (error as Error).message.split('\n');
      if (variant === '') throw new Error(`${base} could not be loaded: ${reason}`, { cause: error });
      note(`whisper${variant} could not be used: ${reason}`);
    }
  }
  throw new Error(
    `${base} is not installed, or there is none for this system; without the flag a small model hears English`,
  );
}
