import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageFolder } from '../../package-folder.ts';

const packName = 'diffusion';
const runtimePackage = 'bare-sidecar';
const driverPackage = '@qvac/diffusion-cpp';

/** Path of the runtime and URL of the driver of the pack. Throws a sentence with what to do if it is missing. */
export function findPack(
  find: (name: string) => string | undefined = packageFolder,
  { platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process,
) {
  const [runtime, driver] = [find(runtimePackage), find(driverPackage)];
  if (runtime === undefined || driver === undefined) {
    const missing = runtime === undefined ? runtimePackage : driverPackage;
    throw new Error(`the pack ${packName} is not installed (${missing} is missing). Type: parley pack add ${packName}`);
  }
  const system = `${platform}-${arch}`;
  const program = join(runtime, 'prebuilds', system, platform === 'win32' ? 'bare.exe' : 'bare');
  const needed = { [runtimePackage]: program, [driverPackage]: join(driver, 'prebuilds', system) };
  for (const [name, path] of Object.entries(needed)) {
    if (!existsSync(path)) throw new Error(`${name} has no part for this system (${system})`);
  }
  return { runtime: program, driver: pathToFileURL(join(driver, 'index.js')).href };
}
