import { stat } from 'node:fs/promises';
import { basename, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { TranscriptionFacts } from '../core/transcription.ts';
import { spawnChild } from '../engines/host/child.ts';
import { lossLine } from '../engines/host/engine-state.ts';
import type { TaskObserver } from '../engines/host/task-engine.ts';
import { type RecogniserOptions, TranscriptionHost } from '../engines/transcription/host.ts';
import type { Terminal } from '../observe/terminal.ts';
import { EngineLifecycle } from './engine-lifecycle.ts';
import type { TaskModel } from './kinds.ts';
import { engineThreads, engineTimer } from './text-engine.ts';

/** The built-in recogniser with all that it computes, as measured after a minute of speech. */
const moonshineBytes = 400 * 1024 * 1024;
const restingMs = 10 * 60_000;

/** What makes text of speech: the model of `--whispermodel`, or the one that comes along, which the first request loads. */
export function transcriptionModel(settings: Settings, terminal: Pick<Terminal, 'line'>): TaskModel<'transcription'> {
  const threads = engineThreads(0, settings);
  const path = settings.whispermodel === '' ? undefined : resolve(settings.whispermodel);
  const name = path === undefined ? 'moonshine-tiny' : basename(path).replace(/\.(?:bin|gguf)$/i, '');
  const recogniser: RecogniserOptions =
    path === undefined
      ? { type: 'moonshine', threads }
      : { type: 'whisper', model: path, name, threads, cpuOnly: settings.usecpu };
  let proven = false;
  const make = () => {
    const host = new TranscriptionHost({
      entry: fileURLToPath(new URL('../engines/transcription/worker/main.js', import.meta.url)),
      options: { recogniser },
      spawn: spawnChild,
      startTimer: engineTimer,
      proven,
      observer: consoleObserver(name, settings, terminal),
    });
    return new EngineLifecycle(host, () => {
      proven = true;
    });
  };
  const spec = { name, kind: 'transcription', make } as const;
  if (path === undefined) {
    return { given: false, spec: { ...spec, besides: true, keepMs: restingMs, need: async () => moonshineBytes } };
  }
  return { given: true, spec: { ...spec, need: async () => (await stat(path)).size * 1.5 } };
}

const adviceForLosses = 'If this goes on, --debugmode shows what the recogniser says.';

function consoleObserver(
  name: string,
  { debugmode }: Settings,
  terminal: Pick<Terminal, 'line'>,
): TaskObserver<TranscriptionFacts> {
  return {
    loaded: ({ languages }) => {
      const hears = languages.length === 1 ? languages[0] : `${languages.length} languages`;
      terminal.line(`Loaded ${name} for speech to text (${hears}).`);
    },
    failed: (reason) => terminal.line(`${name} could not be loaded: ${reason}`),
    lost: (loss) => terminal.line(lossLine('transcription', loss, adviceForLosses)),
    note: (text) => terminal.line(text),
    ...(debugmode === 1 ? { line: (line: string) => terminal.line(`${name}: ${line}`) } : {}),
  };
}
