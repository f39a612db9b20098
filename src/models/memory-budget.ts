import { readFileSync } from 'node:fs';
import { freemem } from 'node:os';
import type { Settings } from '../config/flags.ts';
import type { MemoryBudget } from './eviction.ts';
import type { Registry } from './registry.ts';

/** Memory for models: what is free, and what loaded models use. */
export function memoryBudget(settings: Settings, registry: () => Registry): MemoryBudget {
  // A single model may be larger than the memory: its file is mapped, and slow is better than an error.
  if (!settings.routermode) return { bytes: Number.POSITIVE_INFINITY, count: Number.POSITIVE_INFINITY };
  const held = registry()
    .list()
    .reduce((sum, { resident, bytes = 0 }) => sum + (resident ? bytes : 0), 0);
  const count = settings.maxmodels || Number.POSITIVE_INFINITY;
  return { bytes: availableBytes() + held, count, cards: registry().cardBudgets };
}

/** Available memory. Linux counts reclaimable memory, other systems only unused memory. */
export function availableBytes(): number {
  if (process.platform !== 'linux') return freemem();
  const kilobytes = /^MemAvailable:\s+(\d+) kB$/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1];
  return kilobytes === undefined ? freemem() : Number(kilobytes) * 1024;
}
