import type { Native } from './native.ts';
import type { Pointer } from './structs.ts';

/** Threads for contexts that never compute at the same time. */
export interface Threadpools {
  attach(context: Pointer): void;
}

/** Pools that live as long as the contexts: without one every decode makes and joins its threads (−40 % speed). */
export function makeThreadpools(native: Native, threads: number, batchThreads: number): Threadpools {
  const cpu = native.deviceByType(0);
  const create = cpu && native.registrySymbol(native.deviceRegistry(cpu), 'ggml_threadpool_new');
  if (!create) return { attach: () => {} };
  const pool = (count: number) => native.threadpoolNew(create, native.threadpoolDefaults(count));
  const generation = pool(threads);
  const batch = batchThreads === threads ? generation : pool(batchThreads);
  return {
    attach: (context) => {
      if (generation && batch) native.attachThreadpool(context, generation, batch);
    },
  };
}
