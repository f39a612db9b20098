import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageFolder, packageProblem } from '../package-folder.ts';

const runtimePackage = 'bare-sidecar';

/** Package of the driver of each pack, and the folder of its native libraries. */
const packs = {
  diffusion: (system: string) => ({ name: '@qvac/diffusion-cpp', libraries: join('prebuilds', system) }),
  music: (system: string) => ({ name: `@qvac/audiogen-ggml-${system}`, libraries: join('addon', 'prebuilds') }),
};

/** Files of the runtime and the driver. Throws a sentence with what to do if one is missing, damaged or of another version. */
export function findBarePack(
  pack: keyof typeof packs,
  find: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
) {
  const system = `${platform}-${arch}`;
  const driver = packs[pack](system);
  const partOf = (name: string, part: string): string => {
    const folder = find(name);
    if (folder === undefined) {
      throw new Error(`the pack ${pack} is not installed (${name} is missing). Run: parley pack add ${pack}`);
    }
    const reason = packageProblem(folder, name, pack);
    if (reason !== undefined) throw new Error(reason);
    const path = join(folder, part);
    if (!existsSync(path)) throw new Error(`${name} has no part for this system (${system})`);
    return path;
  };
  return {
    runtime: partOf(runtimePackage, join('prebuilds', system, platform === 'win32' ? 'bare.exe' : 'bare')),
    libraries: partOf(driver.name, driver.libraries),
    module: pathToFileURL(partOf(driver.name, 'index.js')).href,
  };
}
