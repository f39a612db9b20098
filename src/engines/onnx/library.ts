import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../package-folder.ts';

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
