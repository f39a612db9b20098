import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { TranscriptionEngine } from '../core/transcription.ts';
import { type RecogniserOptions, TranscriptionHost } from '../engines/transcription/host.ts';
import { engineConsole } from './engine-console.ts';
import { lifecycles } from './lifecycle.ts';
import { builtIn, type ModelTools, type TaskModel } from './task-model.ts';
import { engineThreads } from './text-engine.ts';

/** Memory of the built-in recogniser, measured after a minute of speech. */
const moonshineBytes = 400 * 1024 * 1024;

/** The model of `--whispermodel`, or the built-in one. */
export function transcriptionModel(settings: Settings, { terminal }: ModelTools): TaskModel<TranscriptionEngine> {
  const threads = engineThreads(0, settings);
  const path = settings.whispermodel === '' ? undefined : resolve(settings.whispermodel);
  const name = path === undefined ? 'moonshine-tiny' : basename(path).replace(/\.(?:bin|gguf)$/i, '');
  const options: RecogniserOptions =
    path === undefined
      ? { type: 'moonshine', threads }
      : { type: 'whisper', model: path, name, threads, cpuOnly: settings.usecpu };
  const observer = engineConsole('transcription', name, terminal, {
    debug: settings.debugmode === 1,
    loaded: ({ languages }: { readonly languages: readonly string[] }) => {
      const hears = languages.length === 1 ? languages[0] : `${languages.length} languages`;
      return `Loaded ${name} for speech to text (${hears}).`;
    },
    advice: 'If this goes on, --debugmode shows what the recogniser says.',
  });
  const entry = fileURLToPath(new URL('../engines/transcription/worker/main.js', import.meta.url));
  const make = lifecycles('transcription', (parts) => new TranscriptionHost({ ...parts, entry, options, observer }));
  const spec = { name, kind: 'transcription', make };
  if (path === undefined) return { given: false, spec: { ...spec, ...builtIn, need: async () => moonshineBytes } };
  return { given: true, spec: { ...spec, need: async () => (await stat(path)).size * 1.5 } };
}
