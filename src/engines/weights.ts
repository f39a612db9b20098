import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';

/** A file of `weights/`, which the build makes from weight packages (`scripts/conversion`). */
export interface WeightsFile {
  readonly file: string;
  readonly sha256: string;
}

const file = (name: string, sha256: string): WeightsFile => ({ file: name, sha256 });
const moonshine = (part: string, sha256: string) => file(`moonshine-tiny-${part}`, sha256);

/** The weights that come with the program. They are loaded only if their hash is the tested one. */
export const weights = {
  miniLm: file('all-MiniLM-L6-v2.gguf', 'a5f91cb352189bfd7c6c9e4133240c0b4c4e0d71edbba4a301d7a7106495f341'),
  moonshineEncoder: moonshine('encoder.onnx', 'c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a'),
  moonshineDecoder: moonshine('decoder.onnx', 'eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367'),
  moonshineTokens: moonshine('tokens.txt', '0547fb182949fbf8ae2ae046de2c3da652c9c6b7e87b25287bd53ddc32ef10a6'),
  voiceActivity: file('silero-vad.onnx', '2623a2953f6ff3d2c1e61740c6cdb7168133479b267dfef114a4a3cc5bdd788f'),
  upscaler2: file('esrgan-slim-2x.onnx', 'c0cd0a9a90a42dd38d3087930e9a77a14d6eb73c66428857be0ece6686e414c2'),
  upscaler3: file('esrgan-slim-3x.onnx', '411e05ebd61dc4622e7fa57240a80ca4dcdc8ba273ac6be3bcf3474080735f8b'),
  upscaler4: file('esrgan-slim-4x.onnx', '20a3b87d22351d1d78b217ed4446d6fbb6307461ec17fc5af7abb75f6e771b67'),
  upscaler8: file('esrgan-slim-8x.onnx', '10135f08a8e72e521c70c9d346a543bb077ae13be92ee2d6332200bdeaf64263'),
} as const;

/** The embeddings model that comes with the program; its size is needed before the file is read. */
export const embeddingModel = { name: 'all-MiniLM-L6-v2', bytes: 35_235_424, architecture: 'bert' } as const;

/** Next to `src` and `dist`: the same place in a clone and in an installed package. */
export const weightsFolder = fileURLToPath(new URL('../../weights', import.meta.url));

/** The path of the file, after its hash was verified. */
export async function checkedWeights({ file, sha256 }: WeightsFile, folder: string = weightsFolder): Promise<string> {
  const path = join(folder, file);
  let hash: string;
  try {
    hash = await hashOf(path);
  } catch (error) {
    throw new Error(`${path} cannot be read (${(error as Error).message}); ${remedy}`, { cause: error });
  }
  if (hash !== sha256) throw new Error(`${path} is damaged (its SHA-256 differs); ${remedy}`);
  return path;
}

const remedy = 'reinstall Parley, or run `npm run build` in a clone';

export async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
