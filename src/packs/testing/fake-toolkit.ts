import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { engineSource } from '../catalogue.ts';

/** Fake programs: they compile nothing, and write a text where the library would be. */
const programs = {
  nvcc: `#!/bin/sh
case "$1" in
  --version) echo "a fake nvcc"; echo "Cuda compilation tools, release 13.0, V13.0.88" ;;
  --dryrun) echo "#$ TOP=$FAKE_ROOT/cuda" >&2 ;;
esac`,
  'nvidia-smi': `#!/bin/sh
printf '9.0\\n9.0\\n'`,
  'c++': '#!/bin/sh',
  ninja: '#!/bin/sh',
  git: `#!/bin/sh
for last; do :; done
mkdir -p "$last"
cp -r "$FAKE_ROOT/source/." "$last"
echo "git $*" >> "$FAKE_ROOT/calls"`,
  cmake: `#!/bin/sh
echo "cmake $*" >> "$FAKE_ROOT/calls"
if [ "$1" = "--build" ]; then
  echo "[1/2] Building fake.cu"
  [ -n "$FAKE_ERROR" ] && { echo "FAILED: fake.cu"; echo "fake.cu(1): error: $FAKE_ERROR"; exit 1; }
  [ -n "$FAKE_HANG" ] && { sleep 600 & echo $! > "$FAKE_ROOT/child"; wait; }
  mkdir -p "$2/bin"
  echo "a fake library" > "$2/bin/libggml-cuda.so"
  echo "[2/2] Linking fake"
fi`,
} as const;

export type FakeProgram = keyof typeof programs;

/** A folder with fake tools, a fake CUDA toolkit and a source of the right version; POSIX systems only. */
export function fakeToolkit(root: string, without: readonly (FakeProgram | 'libcublas.so')[] = []) {
  const bin = join(root, 'bin');
  const libraries = join(root, 'cuda', 'lib64');
  const source = join(root, 'source');
  for (const folder of [bin, libraries, join(source, 'ggml')]) mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(programs)) {
    if (without.includes(name as FakeProgram)) continue;
    writeFileSync(join(bin, name), text);
    chmodSync(join(bin, name), 0o755);
  }
  for (const name of ['libcublas.so', 'libcublas.so.13', 'libcudart.so.13']) {
    if (!without.includes(name as 'libcublas.so')) writeFileSync(join(libraries, name), 'fake');
  }
  writeFileSync(join(source, 'CMakeLists.txt'), versionLines('LLAMA', engineSource.llama));
  writeFileSync(join(source, 'ggml', 'CMakeLists.txt'), versionLines('GGML', engineSource.ggml));
  // The shell and its tools are real.
  const environment: Record<string, string> = { PATH: `${bin}:/usr/bin:/bin`, FAKE_ROOT: root };
  return { environment, source, libraries, bin };
}

export function versionLines(name: string, version: string): string {
  const [major, minor, patch] = version.split('.');
  return `set(${name}_VERSION_MAJOR ${major})\nset(${name}_VERSION_MINOR ${minor})\nset(${name}_VERSION_PATCH ${patch})\n`;
}
