import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { packageFolder } from '../package-folder.ts';

/**
 * Every call into ONNX Runtime, declared once and typed. Its C interface is a table of functions to which later versions
 * only add, so that each has its number for ever.
 */
export type Native = ReturnType<typeof bind>;
/** An object of the library. */
export type Pointer = bigint;

/** The version of the table that is asked for: that of ONNX Runtime 1.17, and every later one has it. */
const tableVersion = 17;
const pointerBytes = 8;

/** Nothing, or an object that says what went wrong. */
const status = 'void *';
const pointer = 'void *';
/** Where the function puts what it gives. */
const out = 'void *';

/** Number, result and parameters of the functions that we use. */
const table = {
  errorMessage: [2, 'const char *', [pointer]],
  createEnvironment: [3, status, ['int', 'const char *', out]],
  createSession: [8, status, [pointer, 'const void *', 'size_t', pointer, out]],
  run: [9, status, [pointer, pointer, 'const char **', pointer, 'size_t', 'const char **', 'size_t', out]],
  createSessionOptions: [10, status, [out]],
  setOptimizationLevel: [23, status, [pointer, 'int']],
  setThreads: [24, status, [pointer, 'int']],
  inputCount: [30, status, [pointer, out]],
  outputCount: [31, status, [pointer, out]],
  inputName: [36, status, [pointer, 'size_t', pointer, out]],
  outputName: [37, status, [pointer, 'size_t', pointer, out]],
  createRunOptions: [39, status, [out]],
  setTerminate: [46, status, [pointer]],
  createTensor: [48, status, [pointer, pointer, 'size_t', 'int', out]],
  tensorData: [51, status, [pointer, out]],
  elementType: [60, status, [pointer, out]],
  dimensionCount: [61, status, [pointer, out]],
  dimensions: [62, status, [pointer, out, 'size_t']],
  typeAndShape: [65, status, [pointer, out]],
  freeByAllocator: [76, status, [pointer, pointer]],
  allocator: [78, status, [out]],
  releaseStatus: [93, 'void', [pointer]],
  releaseSession: [95, 'void', [pointer]],
  releaseValue: [96, 'void', [pointer]],
  releaseRunOptions: [97, 'void', [pointer]],
  releaseTypeAndShape: [99, 'void', [pointer]],
  releaseSessionOptions: [100, 'void', [pointer]],
  addSessionSetting: [130, status, [pointer, 'const char *', 'const char *']],
} as const;

type Callable = ((...parameters: unknown[]) => unknown) & { async(...parameters: unknown[]): void };

let opened: Native | undefined;

/** One library for the whole process. */
export function openNative(file = runtimeFile()): Native {
  opened ??= bind(file);
  return opened;
}

function bind(file: string) {
  // Its kernels are deep; the stacks that koffi gives by default overflow.
  koffi.config({ ...koffi.config(), sync_stack_size: 16 << 20, async_stack_size: 16 << 20, async_heap_size: 1 << 20 });
  const library = koffi.load(file);
  const base = library.func('void *OrtGetApiBase(void)')() as Pointer;
  const getApi = callable(addressAt(base, 0), koffi.proto(pointer, ['uint32_t']));
  const getVersion = callable(addressAt(base, 1), koffi.proto('const char *', []));
  const version = getVersion() as string;
  const api = getApi(tableVersion) as Pointer | null;
  if (!api) throw new Error(`ONNX Runtime ${version} has no functions of version ${tableVersion}`);
  const functions = Object.fromEntries(
    Object.entries(table).map(([name, [number, result, parameters]]) => [
      name,
      callable(addressAt(api, number), koffi.proto(result, [...parameters])),
    ]),
  ) as Record<keyof typeof table, Callable>;

  /** Throws what the library says. */
  function checked(result: unknown): void {
    if (result === null) return;
    const message = functions.errorMessage(result) as string;
    functions.releaseStatus(result);
    throw new Error(message.replaceAll(/\s+/g, ' ').trim());
  }

  return {
    /** It stays as long as somebody holds it; the functions of the table do not. */
    library,
    version,
    call: (name: keyof typeof table, ...parameters: unknown[]): void => checked(functions[name](...parameters)),
    /** On a thread of its own. The memory that it was given must be there as long as it looks at it. */
    callAside: (name: keyof typeof table, ...parameters: unknown[]): Promise<void> =>
      new Promise((resolve, reject) => {
        const held = [...parameters];
        functions[name].async(...parameters, (error: Error | null, result: unknown) => {
          held.length = 0;
          if (error) return reject(error);
          try {
            checked(result);
            resolve();
          } catch (thrown) {
            reject(thrown as Error);
          }
        });
      }),
    /** What the function puts where its last parameter points to. */
    made: (name: keyof typeof table, ...parameters: unknown[]): Pointer => {
      const place = new BigUint64Array(1);
      checked(functions[name](...parameters, place));
      return place[0] as bigint;
    },
    free: (name: keyof typeof table & `release${string}`, object: Pointer): void => {
      functions[name](object);
    },
    view: (place: Pointer, length: number): ArrayBuffer => koffi.view(place, length) as ArrayBuffer,
    textAt: (place: Pointer): string => koffi.decode(place, 'char', -1) as string,
  };
}

/** The address in this place of a table of addresses. */
function addressAt(start: Pointer, index: number): Pointer {
  return new BigUint64Array(koffi.view(start, (index + 1) * pointerBytes) as ArrayBuffer)[index] as bigint;
}

function callable(address: Pointer, prototype: ReturnType<typeof koffi.proto>): Callable {
  return koffi.decode(address, prototype) as Callable;
}

/** ONNX Runtime as `sherpa-onnx-node` brings it along for this system. Throws a sentence where it is missing. */
export function runtimeFile({ platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process): string {
  const name = `sherpa-onnx-${platform === 'win32' ? 'win' : platform}-${arch}`;
  const folder = packageFolder(name);
  const file = folder !== undefined && existsSync(folder) ? runtimeAmong(readdirSync(folder)) : undefined;
  if (folder === undefined || file === undefined) {
    throw new Error(`there is no ONNX Runtime for ${platform} ${arch}: the package ${name} is not installed`);
  }
  return join(folder, file);
}

/** Some systems have its version in the name, or both. */
export function runtimeAmong(files: readonly string[]): string | undefined {
  const fitting = files.filter((file) => /^(lib)?onnxruntime(\.\d[\d.]*)?\.(so(\.\d[\d.]*)?|dylib|dll)$/.test(file));
  return fitting.sort((one, other) => one.length - other.length)[0];
}
