import { fileURLToPath } from 'node:url';
import type { Settings } from '../config/flags.ts';
import { spawnChild } from '../engines/host/child.ts';
import { sketch, sketchFacts } from '../engines/image/facts.ts';
import { ImageHost } from '../engines/image/host.ts';
import type { Terminal } from '../observe/terminal.ts';
import { diffusionModel } from './diffusion-model.ts';
import { EngineLifecycle } from './engine-lifecycle.ts';
import { imageObserver } from './image-observer.ts';
import type { TaskModels } from './kinds.ts';
import { remoteImageModel } from './remote-image-model.ts';
import { engineThreads, engineTimer } from './text-engine.ts';

/** With all that it computes, an upscaler too; measured. */
const sketchBytes = 400 * 2 ** 20;
const restMs = 10 * 60_000;

const path = fileURLToPath(new URL('../../models/parley-sketch.onnx', import.meta.url));
const { name } = sketch;

/** What `--sdmodel` or `--sdremote` names, or else the small model that is built in, which the first request loads. */
export function imageModel(settings: Settings, terminal: Terminal): NonNullable<TaskModels['image']> {
  if (settings.sdremote) return remoteImageModel(settings.sdremote, terminal);
  return settings.sdmodel === '' ? sketchModel(settings, terminal) : diffusionModel(settings, terminal);
}

function sketchModel(settings: Settings, terminal: Terminal): NonNullable<TaskModels['image']> {
  let proven = false;
  const make = () => {
    const host = new ImageHost({
      entry: fileURLToPath(new URL('../engines/image/worker/main.js', import.meta.url)),
      options: { path, threads: engineThreads(settings.sdthreads, settings) },
      spawn: spawnChild,
      startTimer: engineTimer,
      proven,
      observer: imageObserver(name, terminal, settings),
    });
    return new EngineLifecycle(host, () => {
      proven = true;
    });
  };
  const need = async (): Promise<number> => sketchBytes;
  return {
    given: false,
    encoded: true,
    facts: sketchFacts(path),
    spec: { name, kind: 'image', besides: true, keepMs: restMs, need, make },
  };
}
