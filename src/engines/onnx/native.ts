import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import koffi from 'koffi';
import { packageFolder } from '../package-folder.ts';

/** Functions of ONNX Runtime by FFI. Its C API is a table to which later versions only append. */
export type Native = ReturnType<typeof bind>;
export type Pointer = bigint;

/** API version of ONNX Runtime 1.17; later ones have it too. */
const tableVersion = 17;
const pointerBytes = 8;

/** Null, or an error object. */
const status = 'void *';
const pointer = 'void *';
/** Output parameter. */
const out = 'void *';

/** Index, result and parameters. */
const table = {
  errorMessage: [2, 'const char *', [pointer]],
  createEnvironment: [3, status, ['int', 'const char *', out]],
  createSession: [8, status, [pointer, 'const void *', 'size_t', pointer, out]],
  run: [9, status, [pointer, pointer, 'const char **', pointer, 'size_t', 'const char **', 'size_t', out]],
  createSessionOptions: [10, status, [out]],
  disableArena: [19, status, [pointer]],
  setOptimizationLevel: [23, status, [pointer, 'int']],
  setThreads: [24, status, [pointer, 'int']],
  outputCount: [31, status, [pointer, out]],
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

/** Loads the library once per process. */
export function openNative(file = runtimeFile()): Native {
  opened ??= bind(file);
  return opened;
}

function bind(file: string) {
  // The default stacks of koffi overflow.
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

  /** Throws the error of the library. */
  function checked(result: unknown): void {
    if (result === null) return;
    const message = functions.errorMessage(result) as string;
    functions.releaseStatus(result);
    throw new Error(message.replaceAll(/\s+/g, ' ').trim());
  }

  return {
    /** Referenced, because the functions do not keep the library loaded. */
    library,
    version,
    call: (name: keyof typeof table, ...parameters: unknown[]): void => checked(functions[name](...parameters)),
    /** On another thread. Holds the parameters, whose memory is used until the end. */
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
    /** Returns the value of the last parameter, an output. */
    made: (name: keyof typeof table, ...parameters: unknown[]): Pointer => {
      const output = new BigUint64Array(1);
      checked(functions[name](...parameters, output));
      return output[0] as bigint;
    },
    free: (name: keyof typeof table & `release${string}`, object: Pointer): void => {
      functions[name](object);
    },
    view: (address: Pointer, length: number): ArrayBuffer => koffi.view(address, length) as ArrayBuffer,
    textAt: (address: Pointer): string => koffi.decode(address, 'char', -1) as string,
  };
}

/** An entry of a table of addresses. */
function addressAt(start: Pointer, index: number): Pointer {
  return new BigUint64Array(koffi.view(start, (index + 1) * pointerBytes) as ArrayBuffer)[index] as bigint;
}

function callable(address: Pointer, prototype: ReturnType<typeof koffi.proto>): Callable {
  return koffi.decode(address, prototype) as Callable;
}

/** ONNX Runtime of `sherpa-onnx-node` for this system. */
export function runtimeFile({ platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process): string {
  const name = `sherpa-onnx-${platform === 'win32' ? 'win' : platform}-${arch}`;
  const folder = packageFolder(name);
  const file = folder !== undefined && existsSync(folder) ? runtimeAmong(readdirSync(folder)) : undefined;
  if (folder === undefined || file === undefined) {
    throw new Error(`there is no ONNX Runtime for ${platform} ${arch}: the package ${name} is not installed`);
  }
  return join(folder, file);
}

/** The name may have a version. */
export function runtimeAmong(files: readonly string[]): string | undefined {
  const fitting = files.filter((file) => /^(lib)?onnxruntime(\.\d[\d.]*)?\.(so(\.\d[\d.]*)?|dylib|dll)$/.test(file));
  return fitting.sort((one, other) => one.length - other.length)[0];
}
