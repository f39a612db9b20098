export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** In whatever form the system tells it: numbers are used again, but not at the same time. */
  readonly startedAt: string;
}

/** These processes and all that they have started, children before their parents. */
export function processTree(
  roots: readonly number[],
  table: readonly Pick<ProcessEntry, 'pid' | 'parent'>[],
): readonly number[] {
  const found = new Set<number>();
  const visit = (pid: number): void => {
    if (found.has(pid)) return;
    found.add(pid);
    for (const entry of table) if (entry.parent === pid) visit(entry.pid);
  };
  roots.forEach(visit);
  return [...found].reverse();
}

/** The output of `ps -A -o pid=,ppid=,stat=,lstart=`, without processes that have ended and are only to be reaped. */
export function readProcessTable(text: string): readonly ProcessEntry[] {
  return [...text.matchAll(/^\s*(\d+)\s+(\d+)\s+([^\sZ]\S*)\s+(\S.*?)\s*$/gm)].map(
    ([, pid, parent, , startedAt = '']) => ({
      pid: Number(pid),
      parent: Number(parent),
      startedAt,
    }),
  );
}

/** A line of `/proc/PID/stat`, unless that process has ended and is only to be reaped. Its name may hold anything, brackets too. */
export function readProcessStat(text: string): ProcessEntry | undefined {
  const [, pid, state, parent, others = ''] = /^(\d+) \([\s\S]*\) (\S) (\d+) (.*)/.exec(text) ?? [];
  if (pid === undefined || state === 'Z' || state === 'X') return undefined;
  // The start is the 22nd field, and these begin with the 5th.
  return { pid: Number(pid), parent: Number(parent), startedAt: others.split(' ')[17] ?? '' };
}
