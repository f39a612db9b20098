import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { packageFolder } from '../package-folder.ts';

const fileNames: Readonly<Record<string, string>> = {
  linux: 'libonnxruntime.so',
  darwin: 'libonnxruntime.dylib',
  win32: 'onnxruntime.dll',
};

/** ONNX Runtime as `sherpa-onnx-node` brings it along for this system. Throws a sentence where it is missing. */
export function runtimeFile({ platform, arch }: Pick<NodeJS.Process, 'platform' | 'arch'> = process): string {
  const name = `sherpa-onnx-${platform === 'win32' ? 'win' : platform}-${arch}`;
  const folder = packageFolder(name);
  const file = join(folder ?? '', fileNames[platform] ?? '');
  if (folder === undefined || fileNames[platform] === undefined || !existsSync(file)) {
    throw new Error(`there is no ONNX Runtime for ${platform} ${arch}: the package ${name} is not installed`);
  }
  return file;
}
