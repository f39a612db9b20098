export interface GuardedProcessesParts {
  /** The processes that exist now; a system without such a table gives at least those that are asked for. */
  readonly table: (wanted: readonly number[]) => readonly ProcessEntry[];
  readonly kill: (pid: number, signal: 'SIGTERM' | 'SIGKILL') => void;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** Longer than the client library takes to end a program by itself. */
const closeMs = 5000;
/** Between SIGTERM and SIGKILL. */
const terminationMs = 1000;

/**
 * The programs of tool servers with all that they have started. Each process is known by its number and the time of its start, because
 * numbers are used again: it is forgotten only when it is gone, and no other process is ever ended in its place.
 */
export class GuardedProcesses {
  readonly #watched = new Map<number, ProcessEntry>();
  /** Those that should be ending. */
  readonly #closing = new Set<ProcessEntry>();

  constructor(private readonly parts: GuardedProcessesParts) {}

  add(pid: number): void {
    const entry = this.parts.table([pid]).find((one) => one.pid === pid);
    if (entry) this.#watched.set(pid, entry);
  }

  /** The program is about to end. Whatever of it and its children is still there after a while is ended by force. */
  async end(pid: number): Promise<void> {
    const root = this.#watched.get(pid);
    this.#watched.delete(pid);
    const left = root ? this.#withChildren([root]) : [];
    for (const entry of left) this.#closing.add(entry);
    await this.parts.wait(closeMs);
    await this.#stop(left);
    for (const entry of left) this.#closing.delete(entry);
  }

  /** The server is gone: ends whatever is left. */
  async endAll(): Promise<void> {
    await this.#stop([...this.#withChildren([...this.#watched.values()]), ...this.#closing]);
  }

  #withChildren(roots: readonly ProcessEntry[]): readonly ProcessEntry[] {
    const table = this.parts.table(roots.map(({ pid }) => pid));
    const present = roots.filter((root) => table.some((entry) => isSame(entry, root))).map(({ pid }) => pid);
    return processTree(present, table).flatMap((pid) => table.find((entry) => entry.pid === pid) ?? []);
  }

  async #stop(entries: readonly ProcessEntry[]): Promise<void> {
    for (const { pid } of this.#present(entries)) this.parts.kill(pid, 'SIGTERM');
    if (this.#present(entries).length > 0) await this.parts.wait(terminationMs);
    for (const { pid } of this.#present(entries)) this.parts.kill(pid, 'SIGKILL');
  }

  #present(entries: readonly ProcessEntry[]): readonly ProcessEntry[] {
    if (entries.length === 0) return [];
    const table = this.parts.table(entries.map(({ pid }) => pid));
    return entries.filter((entry) => table.some((one) => isSame(one, entry)));
  }
}

function isSame(one: ProcessEntry, other: ProcessEntry): boolean {
  return one.pid === other.pid && one.startedAt === other.startedAt;
}

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
