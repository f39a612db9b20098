import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { TranscriptionEngine, TranscriptionFacts } from '../core/transcription.ts';
import { type RecogniserOptions, TranscriptionHost } from '../engines/transcription/host.ts';
import { libraryPackage } from '../engines/transcription/whisper-cpp/choose.ts';
import { type EarsModel, earsModels, findEars } from '../engines/transcription/whisper-onnx/pack.ts';
import { engineConsole } from './engine-console.ts';
import { type EnginePackages, onnxPackage, whisperPackage } from './engine-packages.ts';
import { lifecycles } from './lifecycle.ts';
import { remoteTranscription } from './remote-audio-models.ts';
import { builtIn, isMissing, type ModelTools, type TaskModel, type TranscriptionModel } from './task-model.ts';
import { engineThreads } from './text-engine.ts';

/** Memory of the built-in recogniser, measured after a minute of speech. */
const moonshineBytes = 400 * 1024 * 1024;

const entry = fileURLToPath(new URL('../engines/transcription/worker/main.js', import.meta.url));

export const transcriptionPackages: EnginePackages = (system) => [
  onnxPackage(system),
  ...['', '-vulkan', '-cuda'].map((variant) => whisperPackage(system, variant)),
  libraryPackage,
  ...earsModels.map(({ packageName }) => packageName),
];

/** The model of `--whispermodel`, that of an installed pack, or the built-in one. */
export function transcriptionModel(
  settings: Settings,
  { terminal }: ModelTools,
  find: (model: EarsModel) => string = findEars,
): TranscriptionModel {
  const remote = remoteTranscription(settings, terminal);
  if (remote) return remote;
  const threads = engineThreads(0, settings);
  const named = settings.whispermodel;
  const ofPack = earsModels.find((model) => (named === '' ? !isMissing(() => find(model)) : model.name === named));
  if (ofPack) return earsModel(ofPack);
  return named === '' || named === 'moonshine' ? moonshine() : whisperFile(resolve(named));

  function earsModel(model: EarsModel): TaskModel<TranscriptionEngine> {
    const { name, bytes } = model;
    const spec = specOf(name, () => ({ type: 'whisper-onnx', folder: find(model), name, threads }));
    const need = async () => bytes;
    return named === ''
      ? { given: false, spec: { ...spec, ...builtIn, need } }
      : { given: true, spec: { ...spec, need } };
  }

  function moonshine(): TranscriptionModel {
    const advice = named === '' ? ' For other languages and fewer errors: parley pack add ears' : '';
    const spec = specOf('moonshine-tiny', () => ({ type: 'moonshine', threads }), advice);
    return { given: named !== '', languages: ['en'], spec: { ...spec, ...builtIn, need: async () => moonshineBytes } };
  }

  function whisperFile(path: string): TaskModel<TranscriptionEngine> {
    const name = basename(path).replace(/\.(?:bin|gguf)$/i, '');
    const spec = specOf(name, () => ({ type: 'whisper', model: path, name, threads, cpuOnly: settings.usecpu }));
    return { given: true, spec: { ...spec, need: async () => (await stat(path)).size * 1.5 } };
  }

  function specOf(name: string, options: () => RecogniserOptions, advice = '') {
    const observer = engineConsole('transcription', name, terminal, {
      debug: settings.debugmode === 1,
      loaded: ({ languages }: TranscriptionFacts) => {
        const hears = languages.length === 1 ? languages[0] : `${languages.length} languages`;
        return `Loaded ${name} for speech to text (${hears}).${advice}`;
      },
      advice: 'If this goes on, --debugmode shows what the recogniser says.',
      packages: transcriptionPackages,
    });
    const make = lifecycles(
      'transcription',
      (parts) => new TranscriptionHost({ ...parts, entry, options: options(), observer }),
    );
    return { name, kind: 'transcription', make } as const;
  }
}
