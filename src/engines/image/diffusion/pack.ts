import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageFolder } from '../../package-folder.ts';

/** Where the parts of the pack are. */
export interface PackFiles {
  readonly runtime: string;
  /** The address of the driver's module. */
  readonly driver: string;
}

export const packName = 'diffusion';
const runtimePackage = 'bare-sidecar';
const driverPackage = '@qvac/diffusion-cpp';

/** Throws the sentence that tells what to do where it is not there. */
export function findPack(
  find: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
): PackFiles {
  const [runtime, driver] = [find(runtimePackage), find(driverPackage)];
  if (runtime === undefined || driver === undefined) {
    const missing = runtime === undefined ? runtimePackage : driverPackage;
    throw new Error(`the pack ${packName} is not installed (${missing} is missing). Type: parley pack add ${packName}`);
  }
  const program = join(runtime, 'prebuilds', `${platform}-${arch}`, platform === 'win32' ? 'bare.exe' : 'bare');
  if (!existsSync(program)) throw new Error(`${runtimePackage} has no part for this system (${platform}-${arch})`);
  if (!existsSync(join(driver, 'prebuilds', `${platform}-${arch}`))) {
    throw new Error(`${driverPackage} has no part for this system (${platform}-${arch})`);
  }
  return { runtime: program, driver: pathToFileURL(join(driver, 'index.js')).href };
}
