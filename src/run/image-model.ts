import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import type { ImageFacts } from '../core/image.ts';
import { spawnChild } from '../engines/host/child.ts';
import { lossLine } from '../engines/host/engine-state.ts';
import type { TaskObserver } from '../engines/host/task-engine.ts';
import { sketch, sketchFacts } from '../engines/image/facts.ts';
import { ImageHost } from '../engines/image/host.ts';
import type { Terminal } from '../observe/terminal.ts';
import { engineThreads, engineTimer } from './engine.ts';
import { EngineLife } from './engine-life.ts';
import type { OtherModels } from './other-models.ts';

/** With all that it computes, an upscaler too; measured. */
const sketchBytes = 400 * 2 ** 20;
const restMs = 10 * 60_000;

const path = fileURLToPath(new URL('../../models/parley-sketch.onnx', import.meta.url));
const { name } = sketch;

/** The small model that is built in; the first who wants a picture loads it. */
export function imageModel(settings: Settings, terminal: Terminal): NonNullable<OtherModels['image']> {
  let proven = false;
  const make = () => {
    const host = new ImageHost({
      entry: fileURLToPath(new URL('../engines/image/worker/main.js', import.meta.url)),
      options: { path, threads: engineThreads(settings.sdthreads, settings) },
      spawn: spawnChild,
      startTimer: engineTimer,
      proven,
      observer: consoleObserver(terminal),
    });
    return new EngineLife(host, () => {
      proven = true;
    });
  };
  const need = async (): Promise<number> => sketchBytes;
  return {
    given: false,
    facts: sketchFacts(path),
    recipe: { name, kind: 'image', besides: true, keepMs: restMs, need, make },
  };
}

function consoleObserver(terminal: Terminal): TaskObserver<ImageFacts> {
  return {
    loaded: () => terminal.line(`Loaded ${name} for pictures.`),
    failed: (reason) => terminal.line(`${name} could not be loaded: ${reason}`),
    lost: (loss) => terminal.line(lossLine('image', loss, 'If this goes on, --debugmode shows what the engine says.')),
    note: (text) => terminal.line(text),
  };
}
