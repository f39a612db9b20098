import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import type { TranscriptionFacts } from '../core/transcription.ts';
import { type RecogniserOptions, TranscriptionHost } from '../engines/transcription/host.ts';
import { libraryPackage } from '../engines/transcription/whisper-cpp/choose.ts';
import { findWhisperPack, type WhisperPack, whisperPacks } from '../engines/transcription/whisper-onnx/pack.ts';
import { engineConsole } from './engine-console.ts';
import { type EnginePackages, onnxPackage, whisperPackage } from './engine-packages.ts';
import { builtIn, isMissing, type ModelTools, type TranscriptionModel, workerSpec } from './task-model.ts';
import { engineThreads } from './text-engine.ts';

/** Memory of the built-in recogniser, measured after a minute of speech. */
const moonshineBytes = 400 * 1024 * 1024;

export const transcriptionPackages: EnginePackages = (system) => [
  onnxPackage(system),
  ...['', '-vulkan', '-cuda'].map((variant) => whisperPackage(system, variant)),
  libraryPackage,
  ...whisperPacks.map(({ packageName }) => packageName),
];

/** The model of `--whispermodel`, that of an installed pack, or the built-in one. */
export function transcriptionModel(
  settings: Settings,
  { terminal }: ModelTools,
  find: (model: WhisperPack) => string = findWhisperPack,
): TranscriptionModel {
  const threads = engineThreads(0, settings);
  const named = settings.whispermodel;
  const ofPack = whisperPacks.find((model) => (named === '' ? !isMissing(() => find(model)) : model.name === named));
  if (ofPack) return packModel(ofPack);
  return named === '' || named === 'moonshine' ? moonshine() : whisperFile(resolve(named));

  function packModel(model: WhisperPack): TranscriptionModel {
    const { name, bytes } = model;
    const options: Options = () => ({ type: 'whisper-onnx', folder: find(model), name, threads });
    return { given: named !== '', spec: specOf(name, async () => bytes, options, named === '' ? builtIn : {}) };
  }

  function moonshine(): TranscriptionModel {
    const advice = named === '' ? ' For other languages and fewer errors: parley pack add ears' : '';
    const options: Options = () => ({ type: 'moonshine', threads });
    const spec = specOf('moonshine-tiny', async () => moonshineBytes, options, builtIn, advice);
    return { given: named !== '', languages: ['en'], spec };
  }

  function whisperFile(path: string): TranscriptionModel {
    const name = basename(path).replace(/\.(?:bin|gguf)$/i, '');
    const options: Options = () => ({ type: 'whisper', model: path, name, threads, cpuOnly: settings.usecpu });
    return { given: true, spec: specOf(name, async () => (await stat(path)).size * 1.5, options) };
  }

  function specOf(
    name: string,
    need: () => Promise<number>,
    options: Options,
    residence: Partial<typeof builtIn> = {},
    advice = '',
  ) {
    const observer = engineConsole('transcription', name, terminal, {
      debug: settings.debugmode === 1,
      loaded: ({ languages }: TranscriptionFacts) => {
        const hears = languages.length === 1 ? languages[0] : `${languages.length} languages`;
        return `Loaded ${name} for speech to text (${hears}).${advice}`;
      },
      advice: 'If this goes on, --debugmode shows what the recogniser says.',
      packages: transcriptionPackages,
    });
    return workerSpec({
      ...residence,
      name,
      kind: 'transcription',
      host: (parts) => new TranscriptionHost(parts),
      options,
      observer,
      need,
      worker: new URL('../engines/transcription/worker/main.js', import.meta.url),
    });
  }
}

type Options = () => RecogniserOptions;
