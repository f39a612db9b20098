import { arrayEntry, writeGguf } from '../../scripts/conversion/gguf-file.ts';
import type { GgufArray, GgufEntry } from '../../src/gguf/gguf.ts';
import { number, tokenizerOf } from './entries.ts';
import { writeWindowModel } from './memories.ts';

/** What the last three tokens of the vocabulary are called instead. */
export const gapMarks = ['<before-gap>', '<behind-gap>', '<the-gap>'] as const;

const controlToken = 3;

/** An untrained model whose file names marks for a gap: spellings that nobody else has, by the numbers of their tokens. */
export async function writeGapModel(path: string, vocabulary: string): Promise<void> {
  const { entries, size } = await tokenizerOf(vocabulary);
  const first = size - gapMarks.length;
  const marked = {
    ...entries,
    'tokenizer.ggml.tokens': replaced(entries, 'tokens', 'string', (index, old) => gapMarks[index - first] ?? old),
    'tokenizer.ggml.token_type': replaced(entries, 'token_type', 'int32', (index, old) =>
      index < first ? old : controlToken,
    ),
    'tokenizer.ggml.fim_pre_token_id': number(first),
    'tokenizer.ggml.fim_suf_token_id': number(first + 1),
    'tokenizer.ggml.fim_mid_token_id': number(first + 2),
  };
  const tokens = `${path}.tokens`;
  await writeGguf(tokens, { metadata: { 'general.architecture': entryOf('none'), ...marked }, tensors: [] });
  await writeWindowModel(path, tokens);
}

const entryOf = (value: string): GgufEntry => ({ type: 'string', value });

function replaced(
  entries: Readonly<Record<string, GgufEntry>>,
  name: string,
  type: 'string' | 'int32',
  change: (index: number, old: string | number) => string | number,
): GgufEntry {
  const { values } = (entries[`tokenizer.ggml.${name}`] as GgufEntry).value as GgufArray;
  return arrayEntry(
    type,
    values.map((value, index) => change(index, value as string | number)),
  );
}
