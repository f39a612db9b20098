import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import { writePlainModel } from './models/memories.ts';

declare module 'vitest' {
  interface ProvidedContext {
    untrainedModel: string;
  }
}

/** Writes the model of `untrainedServers` once for all test files. */
export default async ({ provide }: TestProject): Promise<() => void> => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-untrained-'));
  const model = join(folder, 'parley-mini.gguf');
  await writePlainModel(model, fileURLToPath(new URL('../models/parley-mini.gguf', import.meta.url)));
  provide('untrainedModel', model);
  return () => rmSync(folder, { recursive: true, force: true });
};
