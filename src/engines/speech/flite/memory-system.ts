/** WASI error numbers. */
const outcome = { fine: 0, badDescriptor: 8, invalid: 28, missing: 44 } as const;
const kind = { folder: 3, file: 4, terminal: 2 } as const;
/** The only preopened folder; lower descriptors are the standard streams. */
const folderDescriptor = 3;
const folderName = '/';
const create = 1;
const truncate = 8;

/** Thrown by `proc_exit` to unwind the program. */
class Ended extends Error {
  constructor(readonly code: number) {
    super(`the program ended with ${code}`);
  }
}

class MemoryFile {
  #bytes: Uint8Array<ArrayBuffer>;
  #length: number;

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#bytes = new Uint8Array(bytes);
    this.#length = bytes.length;
  }

  get length(): number {
    return this.#length;
  }

  content(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length);
  }

  empty(): void {
    this.#length = 0;
  }

  write(position: number, piece: Uint8Array): void {
    const end = position + piece.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2, 65_536));
      larger.set(this.content());
      this.#bytes = larger;
    }
    this.#bytes.set(piece, position);
    this.#length = Math.max(this.#length, end);
  }
}

interface Open {
  readonly file: MemoryFile;
  position: number;
}

export interface ProgramRun {
  readonly code: number;
  /** All files after the run. */
  readonly files: ReadonlyMap<string, Uint8Array<ArrayBuffer>>;
  /** Standard error. */
  readonly complaints: string;
}

/**
 * Runs a program that was compiled for WASI once, with one folder that is in memory and nothing else of this machine: no
 * disk, no environment, no network. Each run has a fresh memory, so that none can leave anything to the next.
 */
export function runInMemory(
  program: WebAssembly.Module,
  words: readonly string[],
  given: ReadonlyMap<string, Uint8Array>,
): ProgramRun {
  const files = new Map([...given].map(([name, bytes]) => [name, new MemoryFile(bytes)]));
  const system = new MemorySystem(words, files);
  const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: system.calls() });
  const { memory, _start: start } = instance.exports as { memory: WebAssembly.Memory; _start: () => void };
  system.attach(memory);
  const code = endOf(start);
  return {
    code,
    files: new Map([...files].map(([name, file]) => [name, file.content()])),
    complaints: system.complaints,
  };
}

function endOf(start: () => void): number {
  try {
    start();
    return 0;
  } catch (error) {
    if (error instanceof Ended) return error.code;
    throw error;
  }
}

/** Bounds the recorded standard error. */
const mostComplaints = 4000;

class MemorySystem {
  complaints = '';
  #memory: WebAssembly.Memory | undefined;
  readonly #words: readonly Uint8Array[];
  readonly #open = new Map<number, Open>();
  #next = folderDescriptor + 1;

  constructor(
    words: readonly string[],
    private readonly files: Map<string, MemoryFile>,
  ) {
    this.#words = words.map((word) => Buffer.from(`${word}\0`, 'utf8'));
  }

  attach(memory: WebAssembly.Memory): void {
    this.#memory = memory;
  }

  calls(): Record<string, (...given: never[]) => number> {
    return {
      args_sizes_get: (count: number, size: number) => {
        this.#view().setUint32(count, this.#words.length, true);
        this.#view().setUint32(
          size,
          this.#words.reduce((sum, word) => sum + word.length, 0),
          true,
        );
        return outcome.fine;
      },
      args_get: (list: number, place: number) => {
        let at = place;
        for (const [index, word] of this.#words.entries()) {
          this.#view().setUint32(list + 4 * index, at, true);
          this.#bytes(at, word.length).set(word);
          at += word.length;
        }
        return outcome.fine;
      },
      // Always 0, so that the output is deterministic.
      clock_time_get: (_clock: number, _precision: bigint, place: number) => {
        this.#view().setBigUint64(place, 0n, true);
        return outcome.fine;
      },
      fd_close: (descriptor: number) => (this.#open.delete(descriptor) ? outcome.fine : outcome.badDescriptor),
      fd_fdstat_get: (descriptor: number, place: number) => this.#describe(descriptor, place),
      fd_fdstat_set_flags: () => outcome.fine,
      fd_prestat_get: (descriptor: number, place: number) => {
        if (descriptor !== folderDescriptor) return outcome.badDescriptor;
        this.#view().setUint32(place, 0, true);
        this.#view().setUint32(place + 4, folderName.length, true);
        return outcome.fine;
      },
      fd_prestat_dir_name: (descriptor: number, place: number, length: number) => {
        if (descriptor !== folderDescriptor) return outcome.badDescriptor;
        this.#bytes(place, length).set(Buffer.from(folderName).subarray(0, length));
        return outcome.fine;
      },
      fd_read: (descriptor: number, pieces: number, count: number, place: number) =>
        this.#read(descriptor, pieces, count, place),
      fd_write: (descriptor: number, pieces: number, count: number, place: number) =>
        this.#write(descriptor, pieces, count, place),
      fd_seek: (descriptor: number, offset: bigint, whence: number, place: number) =>
        this.#seek(descriptor, Number(offset), whence, place),
      path_open: (
        _folder: number,
        _lookup: number,
        name: number,
        length: number,
        flags: number,
        _rights: bigint,
        _inherited: bigint,
        _mode: number,
        place: number,
      ) => this.#openFile(Buffer.from(this.#bytes(name, length)).toString('utf8'), flags, place),
      proc_exit: (code: number) => {
        throw new Ended(code);
      },
    };
  }

  #describe(descriptor: number, place: number): number {
    const known = descriptor <= folderDescriptor || this.#open.has(descriptor);
    if (!known) return outcome.badDescriptor;
    const type = descriptor === folderDescriptor ? kind.folder : this.#open.has(descriptor) ? kind.file : kind.terminal;
    const view = this.#view();
    view.setUint32(place, type, true);
    view.setUint32(place + 4, 0, true);
    // All rights.
    view.setBigUint64(place + 8, 0xffffffffffffffffn, true);
    view.setBigUint64(place + 16, 0xffffffffffffffffn, true);
    return outcome.fine;
  }

  #openFile(name: string, flags: number, place: number): number {
    const known = this.files.get(name);
    if (!known && !(flags & create)) return outcome.missing;
    const file = known ?? new MemoryFile();
    this.files.set(name, file);
    if (flags & truncate) file.empty();
    const descriptor = this.#next++;
    this.#open.set(descriptor, { file, position: 0 });
    this.#view().setUint32(place, descriptor, true);
    return outcome.fine;
  }

  #read(descriptor: number, pieces: number, count: number, place: number): number {
    const open = this.#open.get(descriptor);
    if (!open) return outcome.badDescriptor;
    let total = 0;
    for (const piece of this.#pieces(pieces, count)) {
      const found = open.file.content().subarray(open.position, open.position + piece.length);
      piece.set(found);
      open.position += found.length;
      total += found.length;
    }
    this.#view().setUint32(place, total, true);
    return outcome.fine;
  }

  #write(descriptor: number, pieces: number, count: number, place: number): number {
    const open = this.#open.get(descriptor);
    if (!open && descriptor !== 1 && descriptor !== 2) return outcome.badDescriptor;
    let total = 0;
    for (const piece of this.#pieces(pieces, count)) {
      if (open) {
        open.file.write(open.position, piece);
        open.position += piece.length;
      } else if (descriptor === 2 && this.complaints.length < mostComplaints) {
        this.complaints += Buffer.from(piece).toString('utf8');
      }
      total += piece.length;
    }
    this.#view().setUint32(place, total, true);
    return outcome.fine;
  }

  #seek(descriptor: number, offset: number, whence: number, place: number): number {
    const open = this.#open.get(descriptor);
    if (!open) return outcome.badDescriptor;
    const from = [0, open.position, open.file.length][whence];
    if (from === undefined || from + offset < 0) return outcome.invalid;
    open.position = from + offset;
    this.#view().setBigUint64(place, BigInt(open.position), true);
    return outcome.fine;
  }

  /** Read each time, because growing the memory replaces its buffer. */
  #view(): DataView {
    return new DataView(this.#buffer());
  }

  #bytes(place: number, length: number): Uint8Array {
    return new Uint8Array(this.#buffer(), place, length);
  }

  #pieces(place: number, count: number): readonly Uint8Array[] {
    const view = this.#view();
    return Array.from({ length: count }, (_, index) =>
      this.#bytes(view.getUint32(place + 8 * index, true), view.getUint32(place + 8 * index + 4, true)),
    );
  }

  #buffer(): ArrayBuffer {
    if (!this.#memory) throw new Error('the program has no memory');
    return this.#memory.buffer as ArrayBuffer;
  }
}
