import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { attempt } from '../../core/attempt.ts';
import { engineSource } from '../../packs/catalogue.ts';

/** A CUDA library that came with the system, and the base library that it is used with. */
export interface SystemCuda {
  readonly library: string;
  readonly base: string;
}

interface SystemFiles {
  readonly exists: (path: string) => boolean;
  readonly read: (path: string) => Buffer;
  readonly arch: string;
  readonly libraryPath: string;
}

const thisMachine = (): SystemFiles => ({
  exists: existsSync,
  read: (path) => readFileSync(path),
  arch: process.arch,
  libraryPath: process.env.LD_LIBRARY_PATH ?? '',
});

/**
 * The `libggml-cuda.so` of a llama.cpp that is installed on this system (Linux). Structures change between commits without a new
 * version, so it is used only if the base library next to it has the version and the commit of the engine packages; the worker
 * compares them again by calling that library. Calls `log` with the reason why a library is not used.
 */
export function systemCuda(
  log: (sentence: string) => void,
  { exists, read, arch, libraryPath }: SystemFiles = thisMachine(),
): SystemCuda | undefined {
  const folders = libraryFolders(arch, libraryPath);
  for (const folder of folders) {
    const library = join(folder, 'libggml-cuda.so');
    if (!exists(library)) continue;
    const near = [folder, dirname(folder), dirname(dirname(folder))];
    const base = near
      .flatMap((one) => ['libggml-base.so.0', 'libggml-base.so'].map((name) => join(one, name)))
      .find(exists);
    if (base !== undefined && hasIdentity(attempt(() => read(base), Buffer.of()))) return { library, base };
    const { ggml, commit } = engineSource;
    log(`${library} is not of the same llama.cpp as this engine, or does not say so (ggml ${ggml}, commit ${commit})`);
  }
  return undefined;
}

function libraryFolders(arch: string, libraryPath: string): readonly string[] {
  const triplet = arch === 'arm64' ? 'aarch64-linux-gnu' : 'x86_64-linux-gnu';
  const roots = [`/usr/lib/${triplet}`, '/usr/lib64', '/usr/lib', '/usr/local/lib64', '/usr/local/lib'];
  const named = libraryPath.split(':').filter((folder) => folder.startsWith('/'));
  return [...named, ...roots.flatMap((root) => [root, join(root, 'ggml'), join(root, 'ggml/backends0')])];
}

/** Version and commit are zero-terminated strings in the library. */
function hasIdentity(bytes: Buffer): boolean {
  return [engineSource.ggml, engineSource.commit].every((text) => bytes.includes(`\0${text}\0`, 0, 'latin1'));
}
