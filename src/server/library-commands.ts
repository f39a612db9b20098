import { ownFolder, thisSystem } from '../core/data-folder.ts';
import { knownPlaces } from '../library/places.ts';
import { streamOutput, Terminal } from '../observe/terminal.ts';
import type { Stops } from './stops.ts';

/** `parley models`, `parley pull` and `parley pack`: resolves to the exit code. */
export async function libraryCommand(
  command: 'models' | 'pull' | 'pack',
  words: readonly string[],
  stops: Stops,
): Promise<number> {
  const terminal = new Terminal(streamOutput(process.stdout, { moving: true }));
  if (command === 'models') {
    const { modelsCommand } = await import('./models-command.ts');
    return modelsCommand({ words, places: knownPlaces(thisSystem()), terminal });
  }
  const stop = new AbortController();
  stops.handle(() => stop.abort(new Error('it was stopped; the same command goes on from there')));
  const parts = { words, terminal, fetch, signal: stop.signal, now: () => performance.now() };
  if (command === 'pack') {
    const { packCommand } = await import('./pack-command.ts');
    return packCommand({ ...parts, folder: ownFolder('packs') });
  }
  const { pullCommand } = await import('./pull-command.ts');
  return pullCommand({ ...parts, folder: ownFolder('models'), environment: process.env });
}
