import type { Native } from './native.ts';
import type { Pointer } from './structs.ts';

/** A pool that lives as long as the context: without one every decode makes and joins its threads (−40 % speed). */
export function attachThreadpool(native: Native, context: Pointer, threads: number, batchThreads: number): void {
  const cpu = native.deviceByType(0);
  const create = cpu && native.registrySymbol(native.deviceRegistry(cpu), 'ggml_threadpool_new');
  if (!create) return;
  const pool = (count: number) => native.threadpoolNew(create, native.threadpoolDefaults(count));
  const generation = pool(threads);
  const batch = batchThreads === threads ? generation : pool(batchThreads);
  if (generation && batch) native.attachThreadpool(context, generation, batch);
}
