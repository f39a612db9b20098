/** WASI error numbers. */
const outcome = { fine: 0, badDescriptor: 8, invalid: 28, missing: 44 } as const;
const kind = { folder: 3, file: 4, terminal: 2 } as const;
/** The only preopened folder; lower descriptors are the standard streams. */
const folderDescriptor = 3;
const folderName = '/';
const create = 1;
const truncate = 8;
const allRights = 0xffffffffffffffffn;
/** Bounds the recorded standard error. */
const maxErrorLength = 4000;

/** Thrown by `proc_exit` to unwind the program. */
class Ended extends Error {
  constructor(readonly code: number) {
    super(`the program ended with ${code}`);
  }
}

class MemoryFile {
  length: number;
  #bytes: Uint8Array<ArrayBuffer>;

  constructor(bytes: Uint8Array = new Uint8Array(0)) {
    this.#bytes = new Uint8Array(bytes);
    this.length = bytes.length;
  }

  content(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.length);
  }

  write(position: number, piece: Uint8Array): void {
    const end = position + piece.length;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2, 65_536));
      larger.set(this.content());
      this.#bytes = larger;
    }
    this.#bytes.set(piece, position);
    this.length = Math.max(this.length, end);
  }
}

/** Runs a WASI program once, with new memory, one folder and no disk, environment or network. `complaints` is the standard error. */
export function runInMemory(
  program: WebAssembly.Module,
  args: readonly string[],
  inputs: ReadonlyMap<string, Uint8Array>,
) {
  const files = new Map([...inputs].map(([name, bytes]) => [name, new MemoryFile(bytes)]));
  const system = new MemorySystem(args, files);
  const instance = new WebAssembly.Instance(program, { wasi_snapshot_preview1: system.calls });
  const { memory, _start: start } = instance.exports as { memory: WebAssembly.Memory; _start: () => void };
  system.memory = memory;
  let code = 0;
  try {
    start();
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    code = error.code;
  }
  const contents = new Map([...files].map(([name, file]) => [name, file.content()]));
  return { code, files: contents, complaints: system.complaints };
}

class MemorySystem {
  memory: WebAssembly.Memory | undefined;
  complaints = '';
  readonly #args: readonly Uint8Array[];
  readonly #open = new Map<number, { readonly file: MemoryFile; position: number }>();
  #next = folderDescriptor + 1;

  constructor(
    args: readonly string[],
    private readonly files: Map<string, MemoryFile>,
  ) {
    this.#args = args.map((word) => Buffer.from(`${word}\0`, 'utf8'));
  }

  readonly calls = {
    args_sizes_get: (count: number, size: number) => {
      this.#put(count, this.#args.length);
      return this.#put(size, Buffer.concat(this.#args).length);
    },
    args_get: (list: number, pointer: number) => {
      let at = pointer;
      for (const [index, word] of this.#args.entries()) {
        this.#put(list + 4 * index, at);
        this.#bytes(at, word.length).set(word);
        at += word.length;
      }
      return outcome.fine;
    },
    // Always 0, so that the output is deterministic.
    clock_time_get: (_clock: number, _precision: bigint, pointer: number) => this.#putLong(pointer, 0n),
    fd_close: (descriptor: number) => (this.#open.delete(descriptor) ? outcome.fine : outcome.badDescriptor),
    fd_fdstat_get: (descriptor: number, pointer: number) => {
      const isFile = this.#open.has(descriptor);
      if (descriptor > folderDescriptor && !isFile) return outcome.badDescriptor;
      this.#put(pointer, isFile ? kind.file : descriptor === folderDescriptor ? kind.folder : kind.terminal);
      this.#put(pointer + 4, 0);
      this.#putLong(pointer + 8, allRights);
      return this.#putLong(pointer + 16, allRights);
    },
    fd_fdstat_set_flags: () => outcome.fine,
    fd_prestat_get: (descriptor: number, pointer: number) => {
      if (descriptor !== folderDescriptor) return outcome.badDescriptor;
      this.#put(pointer, 0);
      return this.#put(pointer + 4, folderName.length);
    },
    fd_prestat_dir_name: (descriptor: number, pointer: number, length: number) => {
      if (descriptor !== folderDescriptor) return outcome.badDescriptor;
      this.#bytes(pointer, length).set(Buffer.from(folderName).subarray(0, length));
      return outcome.fine;
    },
    fd_read: (descriptor: number, pieces: number, count: number, pointer: number) => {
      const open = this.#open.get(descriptor);
      if (!open) return outcome.badDescriptor;
      const start = open.position;
      for (const piece of this.#pieces(pieces, count)) {
        const chunk = open.file.content().subarray(open.position, open.position + piece.length);
        piece.set(chunk);
        open.position += chunk.length;
      }
      return this.#put(pointer, open.position - start);
    },
    fd_write: (descriptor: number, pieces: number, count: number, pointer: number) => {
      const open = this.#open.get(descriptor);
      if (!open && descriptor !== 1 && descriptor !== 2) return outcome.badDescriptor;
      let total = 0;
      for (const piece of this.#pieces(pieces, count)) {
        if (open) {
          open.file.write(open.position, piece);
          open.position += piece.length;
        } else if (descriptor === 2 && this.complaints.length < maxErrorLength) {
          this.complaints += Buffer.from(piece).toString('utf8');
        }
        total += piece.length;
      }
      return this.#put(pointer, total);
    },
    fd_seek: (descriptor: number, offset: bigint, whence: number, pointer: number) => {
      const open = this.#open.get(descriptor);
      if (!open) return outcome.badDescriptor;
      const from = [0, open.position, open.file.length][whence];
      if (from === undefined || from + Number(offset) < 0) return outcome.invalid;
      open.position = from + Number(offset);
      return this.#putLong(pointer, BigInt(open.position));
    },
    // Parameters: folder, lookup flags, name and its length, open flags, rights, inherited rights, file flags, result.
    path_open: (...inputs: readonly number[]) => {
      const [, , start = 0, length = 0, flags = 0, , , , pointer = 0] = inputs;
      const name = Buffer.from(this.#bytes(start, length)).toString('utf8');
      const known = this.files.get(name);
      if (!known && !(flags & create)) return outcome.missing;
      const file = known ?? new MemoryFile();
      this.files.set(name, file);
      if (flags & truncate) file.length = 0;
      const descriptor = this.#next++;
      this.#open.set(descriptor, { file, position: 0 });
      return this.#put(pointer, descriptor);
    },
    proc_exit: (code: number) => {
      throw new Ended(code);
    },
  };

  #put(pointer: number, value: number): number {
    new DataView(this.#buffer()).setUint32(pointer, value, true);
    return outcome.fine;
  }

  #putLong(pointer: number, value: bigint): number {
    new DataView(this.#buffer()).setBigUint64(pointer, value, true);
    return outcome.fine;
  }

  #bytes(pointer: number, length: number): Uint8Array {
    return new Uint8Array(this.#buffer(), pointer, length);
  }

  #pieces(pointer: number, count: number): readonly Uint8Array[] {
    const view = new DataView(this.#buffer());
    return Array.from({ length: count }, (_, index) =>
      this.#bytes(view.getUint32(pointer + 8 * index, true), view.getUint32(pointer + 8 * index + 4, true)),
    );
  }

  /** Read each time, because growing the memory replaces it. */
  #buffer(): ArrayBuffer {
    if (!this.memory) throw new Error('the program has no memory');
    return this.memory.buffer;
  }
}
