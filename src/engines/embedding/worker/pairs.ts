import { AppError } from '../../../core/errors.ts';
import type { Native } from '../../llama/worker/native/native.ts';
import type { Vocabulary } from '../../llama/worker/text/vocabulary.ts';
import { type Limits, type ReadText, tooLong } from './reading.ts';

/** The tokens that stand around and between a query and a document. */
export interface PairMarks {
  readonly before: readonly number[];
  readonly between: readonly number[];
  readonly after: readonly number[];
}

type Words = Pick<Vocabulary, 'tokenizeAside' | 'detokenize'>;

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
