import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packs, systemOf } from '../../packs/catalogue.ts';
import { packageFolder, packageProblem } from '../package-folder.ts';

const runtimePackage = 'bare-sidecar';

/** Files of the runtime and the driver. Throws a sentence with what to do if one is missing, damaged or of another version. */
export function findBarePack(
  pack: string,
  find: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
) {
  const system = systemOf({ platform, arch });
  const driver = packs.find(({ name }) => name === pack)?.driver;
  if (!driver) throw new Error(`the pack ${pack} has no driver`);
  const driverPackage = driver.name.replace('SYSTEM', system);
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
    libraries: partOf(driverPackage, driver.libraries.replace('SYSTEM', system)),
    module: pathToFileURL(partOf(driverPackage, 'index.js')).href,
  };
}
