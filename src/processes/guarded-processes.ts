interface GuardedProcessesDeps {
  /** The running processes; without a process table, those of the given numbers. */
  readonly table: (pids: readonly number[]) => readonly ProcessEntry[];
  readonly kill: (pid: number, signal: 'SIGTERM' | 'SIGKILL') => void;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** Longer than the client library of MCP takes to end a program by itself. */
const defaultCloseMs = 5000;
/** Between SIGTERM and SIGKILL. */
const terminationMs = 1000;

/** Programs that the server has started (MCP servers, engine programs) and their children. Identified by process id and start time, because ids are reused. */
export class GuardedProcesses {
  readonly #watched = new Map<number, ProcessEntry>();
  /** Processes that are ending. */
  readonly #closing = new Set<ProcessEntry>();

  constructor(private readonly deps: GuardedProcessesDeps) {}

  add(pid: number): void {
    const entry = this.deps.table([pid]).find((one) => one.pid === pid);
    if (entry) this.#watched.set(pid, entry);
  }

  /** The program is ending. It and its children are killed if they still run after a while. */
  async end(pid: number, closeMs = defaultCloseMs): Promise<void> {
    const root = this.#watched.get(pid);
    this.#watched.delete(pid);
    const left = root ? this.#withChildren([root]) : [];
    for (const entry of left) this.#closing.add(entry);
    await this.deps.wait(closeMs);
    await this.#stop(left);
    for (const entry of left) this.#closing.delete(entry);
  }

  /** The server has ended: ends everything. */
  async endAll(): Promise<void> {
    await this.#stop([...this.#withChildren([...this.#watched.values()]), ...this.#closing]);
  }

  #withChildren(roots: readonly ProcessEntry[]): readonly ProcessEntry[] {
    const table = this.deps.table(roots.map(({ pid }) => pid));
    const present = roots.filter((root) => table.some((entry) => isSame(entry, root))).map(({ pid }) => pid);
    return processTree(present, table).flatMap((pid) => table.find((entry) => entry.pid === pid) ?? []);
  }

  async #stop(entries: readonly ProcessEntry[]): Promise<void> {
    for (const { pid } of this.#present(entries)) this.deps.kill(pid, 'SIGTERM');
    if (this.#present(entries).length > 0) await this.deps.wait(terminationMs);
    for (const { pid } of this.#present(entries)) this.deps.kill(pid, 'SIGKILL');
  }

  #present(entries: readonly ProcessEntry[]): readonly ProcessEntry[] {
    if (entries.length === 0) return [];
    const table = this.deps.table(entries.map(({ pid }) => pid));
    return entries.filter((entry) => table.some((one) => isSame(one, entry)));
  }
}

function isSame(one: ProcessEntry, other: ProcessEntry): boolean {
  return one.pid === other.pid && one.startedAt === other.startedAt;
}

export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** In the form of the system. */
  readonly startedAt: string;
}

/** These processes and their descendants, children before their parents. */
export function processTree(roots: readonly number[], table: readonly Pick<ProcessEntry, 'pid' | 'parent'>[]) {
  const found = new Set<number>();
  const visit = (pid: number): void => {
    if (found.has(pid)) return;
    found.add(pid);
    for (const entry of table) if (entry.parent === pid) visit(entry.pid);
  };
  roots.forEach(visit);
  return [...found].reverse();
}

/** The output of `ps -A -o pid=,ppid=,stat=,lstart=`, without zombies. */
export function readProcessTable(text: string): readonly ProcessEntry[] {
  return [...text.matchAll(/^\s*(\d+)\s+(\d+)\s+([^\sZ]\S*)\s+(\S.*?)\s*$/gm)].map(
    ([, pid, parent, , startedAt = '']) => ({ pid: Number(pid), parent: Number(parent), startedAt }),
  );
}

/** A line of `/proc/PID/stat`; undefined for a zombie. The name may contain anything, brackets too. */
export function readProcessStat(text: string): ProcessEntry | undefined {
  const [, pid, state, parent, others = ''] = /^(\d+) \([\s\S]*\) (\S) (\d+) (.*)/.exec(text) ?? [];
  if (pid === undefined || state === 'Z' || state === 'X') return undefined;
  // The start is the 22nd field, and these begin with the 5th.
  return { pid: Number(pid), parent: Number(parent), startedAt: others.split(' ')[17] ?? '' };
}
