import { type GpuNeed, namedGpus } from '../core/gpu-memory.ts';

/** A loaded model, as the eviction policy sees it. */
export interface Resident {
  /** Unique. */
  readonly id: string;
  readonly bytes: number;
  /** What it holds of GPUs, by their names, or will hold once it is loaded. */
  readonly gpus?: ReadonlyMap<string, number> | GpuNeed;
  /** Milliseconds of a monotonic clock. */
  readonly lastUsed: number;
  /** Never evicted. */
  readonly pinned: boolean;
  /** Never loaded beside members of another group; models without a group are loaded beside all. */
  readonly group?: string | undefined;
  /** Small and of another kind: uses memory, but does not count against `count`. */
  readonly auxiliary: boolean;
  /** Has running requests, which must finish before it is unloaded. */
  readonly busy: boolean;
  /** Has requests, running or queued. */
  readonly wanted?: boolean;
}

export interface MemoryBudget {
  /** For all models together. */
  readonly bytes: number;
  /** The most models that may be loaded. */
  readonly count: number;
  /** What all models together may hold of each GPU; a GPU that is not known is not limited. */
  readonly gpus?: readonly GpuBudget[];
}

export interface GpuBudget {
  readonly name: string;
  readonly bytes: number;
}

/** The model to be loaded. */
export interface Newcomer {
  readonly bytes: number;
  readonly auxiliary?: boolean;
  readonly group?: string | undefined;
  readonly gpus?: GpuNeed | undefined;
}

/**
 * Chooses the models to evict so that one more fits: idle ones before those with requests, and the least recently used first. Evicts no
 * model needlessly. `cannot` if it would not fit beside the pinned models even if all others were evicted.
 */
export function evict(
  residents: readonly Resident[],
  newcomer: Newcomer,
  budget: MemoryBudget,
): readonly string[] | 'cannot' {
  const order = residents
    .filter(({ pinned }) => !pinned)
    .sort((a, b) => requests(a) - requests(b) || a.lastUsed - b.lastUsed);
  const fitsWithout = (evicted: readonly Resident[]): boolean =>
    fits(
      residents.filter((resident) => !evicted.includes(resident)),
      newcomer,
      budget,
    );
  const evicted: Resident[] = [];
  for (const next of order) {
    if (fitsWithout(evicted)) break;
    evicted.push(next);
  }
  if (!fitsWithout(evicted)) return 'cannot';
  // A small model that was chosen first may fit again after a large one was chosen: the most recently used is spared first.
  for (const spared of [...evicted].reverse()) {
    const fewer = evicted.filter((resident) => resident !== spared);
    if (fitsWithout(fewer)) evicted.splice(evicted.indexOf(spared), 1);
  }
  return evicted.map(({ id }) => id);
}

const requests = ({ busy, wanted = busy }: Resident): number => Number(busy) + Number(wanted);

/** Whether the groups of two models keep them apart. */
export function excludes({ group: left }: Pick<Resident, 'group'>, { group: right }: Pick<Resident, 'group'>): boolean {
  return left !== undefined && right !== undefined && left !== right;
}

/** Whether one more fits beside these. */
export function fits(residents: readonly Resident[], newcomer: Newcomer, budget: MemoryBudget): boolean {
  // A model that needs no memory always fits.
  if (newcomer.auxiliary && newcomer.bytes === 0) return true;
  if (residents.some((resident) => excludes(resident, newcomer))) return false;
  const counted = residents.filter(({ auxiliary }) => !auxiliary).length;
  const fitsMemory = (newcomer.auxiliary || counted < budget.count) && sum(residents) + newcomer.bytes <= budget.bytes;
  return fitsMemory && fitsGpus(residents, newcomer.gpus, budget.gpus ?? []);
}

/**
 * Whether a model fits on its GPUs beside these. A model that is larger than its GPUs gets all that can be freed there, and the
 * rest of its layers stay in main memory: too small a GPU is no reason to refuse it.
 */
function fitsGpus(residents: readonly Resident[], need: GpuNeed | undefined, budgets: readonly GpuBudget[]): boolean {
  if (!need || need.bytes === 0) return true;
  const own = namedGpus(budgets, need.devices);
  const all = own.reduce((total, { bytes }) => total + bytes, 0);
  const held = (some: readonly Resident[]): number =>
    some.reduce((total, { gpus }) => total + heldOf(gpus, own, budgets), 0);
  const most = all - held(residents.filter(({ pinned }) => pinned));
  return all - held(residents) >= Math.min(need.bytes, Math.max(0, most));
}

function heldOf(gpus: Resident['gpus'], own: readonly GpuBudget[], budgets: readonly GpuBudget[]): number {
  if (gpus === undefined) return 0;
  if ('bytes' in gpus) {
    const shares = namedGpus(budgets, gpus.devices).some((gpu) => own.includes(gpu));
    return shares ? gpus.bytes : 0;
  }
  return own.reduce((total, { name }) => total + (gpus.get(name) ?? 0), 0);
}

const sum = (residents: readonly Resident[]): number => residents.reduce((total, { bytes }) => total + bytes, 0);
