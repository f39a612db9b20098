import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import type { FlagKey, Settings } from '../src/config/flags.ts';
import { loadSettings } from '../src/config/load.ts';
import { linuxProcessors, threadCount } from '../src/config/threads.ts';
import { type LoadOptions, loadOptions, readModelFile } from '../src/engines/llama/load-options.ts';
import { cachedModel } from './model-cache.ts';

/** What every bench gets. */
export interface BenchOptions {
  /** The server's main file, built. */
  readonly server: string;
  /** Fewer rounds: to see that the bench works rather than to believe its figures. */
  readonly quick: boolean;
  /** The engine bench with this many threads only, in place of one and the default; the servers side by side with 2. */
  readonly threads: number | undefined;
  /** The model for the servers side by side; the random one of 124 million weights when it is left out. */
  readonly model: string | undefined;
  /** The CPU build that Parley is to use beside a peer that was built for it; the best one when it is left out. */
  readonly cpuBuild: string | undefined;
  /** The servers side by side have all layers on a GPU. */
  readonly gpu: boolean;
  /** Another server to measure beside Parley: one that runs, or the command that starts it. */
  readonly peer: { readonly url?: string; readonly pid?: number; readonly command?: string };
  /** Flags of the recognisers that the round trip is heard by; each item is those of one. */
  readonly ears: readonly string[];
  /** Where the round trip keeps what was spoken, to be heard again by other ears. */
  readonly sounds: string | undefined;
  /** The agents bench with this client only, by its name in the table. */
  readonly client: string | undefined;
  readonly log: (line: string) => void;
}

export function benchModel({ model }: BenchOptions): Promise<string> {
  return model === undefined
    ? cachedModel('random-124m-text', { byteTokens: 'text' })
    : Promise.resolve(resolve(model));
}

/** The settings that the server makes of these flags. */
export function settingsOf(flags: readonly string[]): { settings: Settings; given: ReadonlySet<FlagKey> } {
  const loaded = loadSettings({
    arguments: flags,
    environment: {},
    readFile: (path) => readFileSync(path, 'utf8'),
    exists: () => false,
  });
  if (loaded.type === 'refused') throw new Error(loaded.problems.map(({ sentence }) => sentence).join('\n'));
  return loaded;
}

/** What the server tells its worker about a model under these flags. */
export async function workerOptions(model: string, flags: readonly string[], threads: number): Promise<LoadOptions> {
  const { settings, given } = settingsOf(flags);
  const { shape } = await readModelFile(model);
  return loadOptions(settings, { model, name: 'bench', shape, threads, contextSizeGiven: given.has('contextsize') });
}

export function defaultThreads(): number {
  return threadCount(
    0,
    linuxProcessors(availableParallelism(), (path) => {
      try {
        return readFileSync(path, 'utf8');
      } catch {
        return undefined;
      }
    }),
  );
}
