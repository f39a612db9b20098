import { basename } from 'node:path';

/** The name that a file of weights goes by. */
export function nameOfFile(path: string): string {
  return basename(path).replace(/\.(?:safetensors|gguf|ckpt|pth|pt|bin)$/i, '');
}
