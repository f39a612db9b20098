import { type GgufEntry, readGguf } from '../../src/gguf/gguf.ts';

export const number = (value: number): GgufEntry => ({ type: 'uint32', value });
export const text = (value: string): GgufEntry => ({ type: 'string', value });
export const fraction = (value: number): GgufEntry => ({ type: 'float32', value });

/** The tokenizer of another model, as entries for a new one, and the number of its tokens. */
export async function tokenizerOf(path: string): Promise<{ entries: Record<string, GgufEntry>; size: number }> {
  const { metadata } = await readGguf(path, { arrayEntries: Number.POSITIVE_INFINITY });
  const entries = [...metadata].filter(([key]) => key.startsWith('tokenizer.'));
  const tokens = metadata.get('tokenizer.ggml.tokens')?.value as { readonly length: number };
  return { entries: Object.fromEntries(entries), size: tokens.length };
}
