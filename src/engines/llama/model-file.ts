import { readGguf } from '../../gguf/read.ts';
import { type GgufHeader, numberOf, textOf } from '../../gguf/types.ts';
import type { ModelShape } from './load-options.ts';

/** What is known of a model before its weights are read. */
export interface ModelFile {
  readonly path: string;
  readonly shape: ModelShape;
  readonly chatTemplate: string | undefined;
}

/** Throws one clear sentence for a file that cannot be a model. */
export async function readModelFile(path: string): Promise<ModelFile> {
  const header = await readGguf(path);
  return { path, shape: modelShape(header), chatTemplate: textOf(header, 'tokenizer.chat_template') };
}

function modelShape(header: GgufHeader): ModelShape {
  const { architecture } = header;
  const fact = (name: string) => numberOf(header, `${architecture}.${name}`);
  const layers = fact('block_count') ?? 0;
  const heads = fact('attention.head_count') ?? 1;
  const keyValueHeads = fact('attention.head_count_kv') ?? heads;
  // A recurrent model has no heads, and no cache that grows with the text.
  const headSize = heads > 0 ? (fact('embedding_length') ?? 0) / heads : 0;
  const keys = fact('attention.key_length') ?? headSize;
  const values = fact('attention.value_length') ?? headSize;
  const sizeBytes = header.tensors.reduce((sum, { bytes }) => sum + bytes, 0);
  return {
    architecture,
    layers,
    trainedContext: fact('context_length') ?? 0,
    sizeBytes,
    cacheBytesPerToken: 2 * layers * keyValueHeads * (keys + values),
  };
}
