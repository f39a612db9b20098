import { type ProcessEntry, processTree } from './process-tree.ts';

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
