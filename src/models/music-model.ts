import type { Settings } from '../config/flags.ts';
import type { MusicEngine, MusicFacts } from '../core/music.ts';
import { findBarePack } from '../engines/bare/pack.ts';
import { MusicHost } from '../engines/music/host.ts';
import { musicOptions } from '../engines/music/messages.ts';
import { systemOf } from '../packs/catalogue.ts';
import { engineConsole } from './engine-console.ts';
import type { EnginePackages } from './engine-packages.ts';
import { bytesOf, isMissing, type ModelTools, type TaskModel, workerSpec } from './task-model.ts';
import { engineThreads } from './text-engine.ts';

export const musicPackages: EnginePackages = (system) => [`@qvac/audiogen-ggml-${systemOf(system)}`];

/** Memory in addition to the weights, for a song of two minutes. */
const workingBytes = 2 ** 30;

/** The model of `--musicdiffusion` and its parts, by the engine of the pack; undefined without the flag. */
export function musicModel(
  settings: Settings,
  { terminal }: Pick<ModelTools, 'terminal'>,
  find: () => unknown = () => findBarePack('music'),
): TaskModel<MusicEngine> | undefined {
  if (settings.musicdiffusion === '') return undefined;
  const options = musicOptions(settings, engineThreads(0, settings));
  const { name } = options.facts;
  const observer = engineConsole<MusicFacts>('music', name, terminal, {
    debug: settings.debugmode === 1,
    loaded: () => `Loaded ${name} for music.`,
    advice: 'If this goes on, --debugmode shows what the engine says.',
    packages: musicPackages,
  });
  const spec = workerSpec({
    name,
    kind: 'music',
    options: () => options,
    observer,
    host: (parts) => new MusicHost(parts),
    worker: new URL('../engines/music/worker/main.js', import.meta.url),
    need: async () => (await bytesOf(Object.values(options.files))) + workingBytes,
  });
  return { given: true, available: () => !isMissing(find), spec };
}
