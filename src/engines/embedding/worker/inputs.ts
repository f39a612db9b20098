import type { EmbeddingInput } from '../../../core/embedding.ts';
import { AppError } from '../../../core/errors.ts';
import type { Native } from '../../llama/worker/native/native.ts';
import type { Vocabulary } from '../../llama/worker/text/vocabulary.ts';

/** The tokens that stand around and between a query and a document. */
export interface PairMarks {
  readonly before: readonly number[];
  readonly between: readonly number[];
  readonly after: readonly number[];
}

/** As the vocabulary has them: the end of a text, or its separator where it has no end. */
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

/** Puts one query together with one document after the other. */
export class PairReader {
  readonly #query: Promise<Int32Array>;

  constructor(
    query: string,
    private readonly words: Words,
    private readonly marks: PairMarks,
    private readonly limits: Limits,
  ) {
    this.#query = words.tokenizeAside(query, { addSpecial: false });
    this.#query.catch(() => undefined);
  }

  async pair(document: string, field: string): Promise<ReadText> {
    const query = await this.#query;
    const { maxTokens, truncate } = this.limits;
    const { before, between, after } = this.marks;
    const frame = before.length + query.length + between.length + after.length;
    if (frame >= maxTokens) throw tooLong('query', frame, maxTokens);
    const whole = await this.words.tokenizeAside(document, { addSpecial: false });
    const room = maxTokens - frame;
    if (whole.length > room && !truncate) throw tooLong(field, frame + whole.length, maxTokens);
    const tokens = Int32Array.from([...before, ...query, ...between, ...whole.subarray(0, room), ...after]);
    return { tokens, truncated: whole.length > room };
  }
}

/** The same for a model whose file says in words how the two are put together. */
export class TemplateReader {
  constructor(
    private readonly query: string,
    private readonly words: Words,
    private readonly template: string,
    private readonly limits: Limits,
  ) {}

  async pair(document: string, field: string): Promise<ReadText> {
    const { maxTokens, truncate } = this.limits;
    const whole = await this.#read(document);
    if (whole.length <= maxTokens) return { tokens: whole, truncated: false };
    const frame = (await this.#read('')).length;
    if (frame >= maxTokens) throw tooLong('query', frame, maxTokens);
    if (!truncate) throw tooLong(field, whole.length, maxTokens);
    const tokens = await this.words.tokenizeAside(document, { addSpecial: false });
    // Tokens that meet may become more of them than there were.
    for (let room = maxTokens - frame; room >= 0; room -= 8) {
      const cut = await this.#read(this.words.detokenize(tokens.subarray(0, room), false));
      if (cut.length <= maxTokens) return { tokens: cut, truncated: true };
    }
    throw new AppError('invalid-field', { field, expected: 'a text that can be cut' });
  }

  #read(document: string): Promise<Int32Array> {
    const text = this.template.replace(/\{(query|document)\}/g, (_, name) =>
      name === 'query' ? this.query : document,
    );
    return this.words.tokenizeAside(text, { addSpecial: false });
  }
}

type Words = Pick<Vocabulary, 'tokenizeAside' | 'detokenize'>;
type InputWords = Pick<Vocabulary, 'size' | 'tokenizeAside' | 'around'>;

export interface ReadText {
  readonly tokens: Int32Array;
  readonly truncated: boolean;
}

interface Limits {
  readonly maxTokens: number;
  readonly truncate: boolean;
}

/** The tokens of an input, as many as the model can read; what cannot be read is refused by its name. */
export async function readInput(
  input: EmbeddingInput,
  field: string,
  words: InputWords,
  { maxTokens, truncate }: Limits,
): Promise<ReadText> {
  const isText = typeof input === 'string';
  const tokens = isText ? await words.tokenizeAside(input, { addSpecial: true }) : checkedTokens(input, field, words);
  if (tokens.length === 0) {
    throw new AppError('invalid-field', { field, expected: 'something that has at least one token' });
  }
  if (tokens.length <= maxTokens) return { tokens, truncated: false };
  if (!truncate) throw tooLong(field, tokens.length, maxTokens);
  return {
    tokens: isText ? cutBefore(tokens, words.around().after, maxTokens) : tokens.slice(0, maxTokens),
    truncated: true,
  };
}

function tooLong(field: string, tokens: number, mostTokens: number): AppError {
  return new AppError('input-too-long', { field, tokens, mostTokens });
}

/** What the model wants at the end of a text stays there. */
export function cutBefore(tokens: Int32Array, end: Int32Array, maxTokens: number): Int32Array {
  const kept = Math.max(0, maxTokens - end.length);
  const cut = new Int32Array(Math.min(maxTokens, kept + end.length));
  cut.set(tokens.subarray(0, kept));
  cut.set(end.subarray(0, cut.length - kept), kept);
  return cut;
}

function checkedTokens(tokens: readonly number[], field: string, { size }: InputWords): Int32Array {
  if (!tokens.every((token) => Number.isInteger(token) && token >= 0 && token < size)) {
    const expected = `made of token numbers of this model, which are whole and below ${size}`;
    throw new AppError('invalid-field', { field, expected });
  }
  return Int32Array.from(tokens);
}
