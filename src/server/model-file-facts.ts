import { stat } from 'node:fs/promises';
import type { ModelFileFacts } from '../core/models-view.ts';
import { quantizationOf } from '../gguf/describe.ts';
import { numberOf, readGguf } from '../gguf/gguf.ts';

/** Reads headers of model files, each once until it changes. Undefined for a file that is no model. */
export function modelFileFacts(): (path: string) => Promise<ModelFileFacts | undefined> {
  const known = new Map<string, { readonly version: string; readonly facts: Promise<ModelFileFacts | undefined> }>();
  return async (path) => {
    const { size, mtimeMs } = (await stat(path).catch(() => undefined)) ?? {};
    if (size === undefined) return undefined;
    const version = `${size} ${mtimeMs}`;
    const cached = known.get(path);
    if (cached?.version === version) return cached.facts;
    const facts = readFacts(path).catch(() => undefined);
    known.set(path, { version, facts });
    return facts;
  };
}

async function readFacts(path: string): Promise<ModelFileFacts> {
  const header = await readGguf(path);
  return {
    bytes: header.fileSize,
    parameters: header.tensors.reduce((sum, { elements }) => sum + elements, 0),
    quantization: quantizationOf(header),
    context: numberOf(header, `${header.architecture}.context_length`),
  };
}
