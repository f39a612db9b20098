const maxThreads = 64;

export interface Processors {
  readonly logical: number;
  /** Physical cores that the process may run on, if known. */
  readonly cores?: number;
  /** Logical processors available to the process: its affinity, or its cgroup quota (may be a fraction). */
  readonly allowed?: number;
}

/** One thread per available physical core. Engine threads busy-wait, so one too many costs far more than one too few. */
export function defaultThreads({ logical, cores, allowed }: Processors): number {
  const physical = cores ?? Math.ceil(logical / 2);
  return Math.max(1, Math.min(physical, Math.floor(allowed ?? logical), maxThreads));
}

/** The value of `--threads`, or the default for 0 and less. */
export function threadCount(requested: number, processors: Processors): number {
  return requested > 0 ? requested : defaultThreads(processors);
}

/** Reads /proc and the cgroup; `read` returns `undefined` for a missing file. */
export function linuxProcessors(logical: number, read: (path: string) => string | undefined): Processors {
  const list = /^Cpus_allowed_list:\s*(\S+)/m.exec(read('/proc/self/status') ?? '')?.[1];
  const processors = list === undefined ? undefined : parseProcessorList(list);
  const cores = countCores(read('/proc/cpuinfo') ?? '', processors);
  const limits = [processors?.size, quota(read('/sys/fs/cgroup/cpu.max'))].filter((limit) => limit !== undefined);
  return {
    logical,
    ...(cores === undefined ? {} : { cores }),
    ...(limits.length === 0 ? {} : { allowed: Math.min(...limits) }),
  };
}

/** `0-3,8` → 0, 1, 2, 3, 8 */
export function parseProcessorList(list: string): ReadonlySet<number> {
  const numbers = list.split(',').flatMap((range) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(range.trim()) ?? [];
    if (first === undefined) return [];
    return Array.from({ length: Math.max(0, Number(last) - Number(first) + 1) }, (_, step) => Number(first) + step);
  });
  return new Set(numbers);
}

/** Physical cores of the allowed processors; `undefined` if /proc/cpuinfo has no core ids, as on most ARM machines. */
export function countCores(cpuinfo: string, allowed?: ReadonlySet<number>): number | undefined {
  const cores = new Set<string>();
  for (const block of cpuinfo.split(/\n\s*\n/)) {
    const field = (name: string) => new RegExp(`^${name}\\s*:\\s*(\\d+)`, 'm').exec(block)?.[1];
    const [processor, core] = [field('processor'), field('core id')];
    if (processor === undefined || core === undefined) continue;
    if (!allowed || allowed.has(Number(processor))) cores.add(`${field('physical id') ?? 0}/${core}`);
  }
  return cores.size > 0 ? cores.size : undefined;
}

/** `200000 100000` is the time of two processors; `max` is no limit. */
function quota(cpuMax: string | undefined): number | undefined {
  const [share, period] = (cpuMax ?? '').trim().split(/\s+/).map(Number);
  return share && period && Number.isFinite(share / period) ? share / period : undefined;
}
