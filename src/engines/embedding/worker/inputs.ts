import type { EmbeddingInput } from '../../../core/embedding.ts';
import { AppError } from '../../../core/errors.ts';
import type { Native } from '../../llama/worker/native/native.ts';
import { checkedTokens, type Vocabulary } from '../../llama/worker/text/vocabulary.ts';

/** Tokens around and between a query and a document. */
export type PairMarks = Readonly<Record<'before' | 'between' | 'after', readonly number[]>>;

/** From the vocabulary; the separator replaces a missing end token. */
export function pairMarks(native: Native, vocabulary: Vocabulary): PairMarks {
  const { pointer, bos } = vocabulary;
  const separator = native.tokenSeparator(pointer);
  const eos = native.tokenEos(pointer);
  const end = eos >= 0 ? eos : separator;
  const ending = native.addsEos(pointer) && end >= 0 ? [end] : [];
  const separating = native.addsSeparator(pointer) && separator >= 0 ? [separator] : [];
  return {
    before: native.addsBos(pointer) && bos >= 0 ? [bos] : [],
    between: [...ending, ...separating],
    after: ending,
  };
}

type ReadPair = (document: string, field: string) => Promise<ReadText>;

/** Joins a query with each document. */
export function pairReader(
  query: string,
  vocabulary: Tokenizer,
  marks: PairMarks,
  { maxTokens, truncate }: Limits,
): ReadPair {
  const reading = vocabulary.tokenizeAside(query, { addSpecial: false });
  reading.catch(() => undefined);
  return async (document, field) => {
    const { before, between, after } = marks;
    const start = [...before, ...(await reading), ...between];
    const frame = start.length + after.length;
    if (frame >= maxTokens) throw tooLong('query', frame, maxTokens);
    const whole = await vocabulary.tokenizeAside(document, { addSpecial: false });
    const most = maxTokens - frame;
    if (whole.length > most && !truncate) throw tooLong(field, frame + whole.length, maxTokens);
    const tokens = Int32Array.from([...start, ...whole.subarray(0, most), ...after]);
    return { tokens, truncated: whole.length > most };
  };
}

/** The same for a model whose file has a template. */
export function templateReader(
  query: string,
  vocabulary: Tokenizer,
  template: string,
  { maxTokens, truncate }: Limits,
): ReadPair {
  const read = (document: string): Promise<Int32Array> => {
    const text = template.replace(/\{(query|document)\}/g, (_, name) => (name === 'query' ? query : document));
    return vocabulary.tokenizeAside(text, { addSpecial: false });
  };
  return async (document, field) => {
    const whole = await read(document);
    if (whole.length <= maxTokens) return { tokens: whole, truncated: false };
    const frame = (await read('')).length;
    if (frame >= maxTokens) throw tooLong('query', frame, maxTokens);
    if (!truncate) throw tooLong(field, whole.length, maxTokens);
    const tokens = await vocabulary.tokenizeAside(document, { addSpecial: false });
    // Joined texts may have more tokens than both.
    for (let most = maxTokens - frame; most >= 0; most -= 8) {
      const cut = await read(vocabulary.detokenize(tokens.subarray(0, most), false));
      if (cut.length <= maxTokens) return { tokens: cut, truncated: true };
    }
    throw new AppError('invalid-field', { field, expected: 'a text that can be cut' });
  };
}

type Tokenizer = Pick<Vocabulary, 'tokenizeAside' | 'detokenize'>;
type InputTokenizer = Pick<Vocabulary, 'size' | 'tokenizeAside' | 'around'>;

export interface ReadText {
  readonly tokens: Int32Array;
  readonly truncated: boolean;
}

interface Limits {
  readonly maxTokens: number;
  readonly truncate: boolean;
}

/** Tokens of an input, truncated or rejected if there are too many. */
export async function readInput(
  input: EmbeddingInput,
  field: string,
  vocabulary: InputTokenizer,
  { maxTokens, truncate }: Limits,
): Promise<ReadText> {
  const isText = typeof input === 'string';
  const tokens = isText
    ? await vocabulary.tokenizeAside(input, { addSpecial: true })
    : checkedTokens(input, field, vocabulary.size);
  if (tokens.length === 0) {
    throw new AppError('invalid-field', { field, expected: 'something that has at least one token' });
  }
  if (tokens.length <= maxTokens) return { tokens, truncated: false };
  if (!truncate) throw tooLong(field, tokens.length, maxTokens);
  return {
    tokens: isText ? cutBefore(tokens, vocabulary.around().after, maxTokens) : tokens.slice(0, maxTokens),
    truncated: true,
  };
}

function tooLong(field: string, tokens: number, maxTokens: number): AppError {
  return new AppError('input-too-long', { field, tokens, maxTokens });
}

/** Truncates before the end tokens, which the model needs. */
export function cutBefore(tokens: Int32Array, end: Int32Array, maxTokens: number): Int32Array {
  const keep = Math.max(0, maxTokens - end.length);
  const cut = new Int32Array(Math.min(maxTokens, keep + end.length));
  cut.set(tokens.subarray(0, keep));
  cut.set(end.subarray(0, cut.length - keep), keep);
  return cut;
}
