import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findBarePack } from '../bare/pack.ts';

/** Files of the pack. Throws a sentence with what to do if it is missing. */
export function findMusicPack(find?: (name: string) => string | undefined) {
  const { platform, arch } = process;
  const { runtime, driver } = findBarePack('music', `@qvac/audiogen-ggml-${platform}-${arch}`, find);
  return {
    runtime,
    module: pathToFileURL(join(driver, 'index.js')).href,
    backends: join(driver, 'addon', 'prebuilds'),
  };
}
