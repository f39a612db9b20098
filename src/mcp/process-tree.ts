export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
}

/** These processes and all that they have started, children before their parents. */
export function processTree(roots: readonly number[], table: readonly ProcessEntry[]): readonly number[] {
  const found = new Set<number>();
  const visit = (pid: number): void => {
    if (found.has(pid)) return;
    found.add(pid);
    for (const entry of table) if (entry.parent === pid) visit(entry.pid);
  };
  roots.forEach(visit);
  return [...found].reverse();
}

/** The output of `ps -A -o pid=,ppid=`. */
export function readProcessTable(text: string): readonly ProcessEntry[] {
  return [...text.matchAll(/^\s*(\d+)\s+(\d+)\s*$/gm)].map(([, pid, parent]) => ({
    pid: Number(pid),
    parent: Number(parent),
  }));
}

/** A line of `/proc/PID/stat`; the name in it may hold anything, brackets too. */
export function readProcessStat(text: string): ProcessEntry | undefined {
  const [, pid, parent] = /^(\d+) \([\s\S]*\) \S (\d+) /.exec(text) ?? [];
  return pid === undefined ? undefined : { pid: Number(pid), parent: Number(parent) };
}
