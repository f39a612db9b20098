import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../package-folder.ts';

const runtimePackage = 'bare-sidecar';

/** Path of the Bare runtime and folder of the driver of a pack. Throws a sentence with what to do if one is missing. */
export function findBarePack(
  pack: string,
  driverPackage: string,
  find: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
) {
  const [runtime, driver] = [find(runtimePackage), find(driverPackage)];
  if (runtime === undefined || driver === undefined) {
    const missing = runtime === undefined ? runtimePackage : driverPackage;
    throw new Error(`the pack ${pack} is not installed (${missing} is missing). Type: parley pack add ${pack}`);
  }
  const program = join(runtime, 'prebuilds', `${platform}-${arch}`, platform === 'win32' ? 'bare.exe' : 'bare');
  if (!existsSync(program)) throw new Error(`${runtimePackage} has no part for this system (${platform}-${arch})`);
  return { runtime: program, driver };
}
