import type { Settings } from '../config/flags.ts';
import { availableBytes } from '../core/memory.ts';
import type { MemoryBudget } from './eviction.ts';
import type { Registry } from './registry.ts';

/** Memory for models: what is free, and what loaded models use or would give back. */
export function memoryBudget(settings: Settings, registry: () => Registry): MemoryBudget {
  // A single model may be larger than the memory: its file is mapped, and slow is better than an error.
  if (!settings.routermode && settings.engine === null)
    return { bytes: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY };
  const held = registry()
    .list()
    .reduce((sum, { resident, bytes = 0, spareBytes = 0 }) => sum + (resident ? bytes + spareBytes : 0), 0);
  const count = settings.maxmodels || Number.POSITIVE_INFINITY;
  return { bytes: availableBytes() + held, count, gpus: registry().gpuBudgets };
}
