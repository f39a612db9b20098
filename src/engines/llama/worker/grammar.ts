import { AppError } from '../../../core/errors.ts';
import type { Grammar } from '../../../core/request.ts';
import type { Candidates } from '../../../sampling/candidates.ts';
import type { GrammarFilter } from '../../../sampling/sampler.ts';
import type { Pointer } from './structs.ts';
import type { Vocabulary } from './vocabulary.ts';

/** `llama_token_data`: id, logit, probability. */
const entryBytes = 12;

/**
 * A GBNF grammar in llama.cpp's own engine. It sees the candidates of each step and is told the token that was taken;
 * after a rewind it starts again where the request began, and is told the text that is left.
 */
export class NativeGrammar implements GrammarFilter {
  #sampler: Pointer;
  /** The state in which this request began, where an earlier one may have left it. */
  #beginning: Pointer | undefined;
  #capacity = 0;
  #entries: Pointer | undefined;
  #list: Pointer;
  #ids = new Int32Array(0);
  #logits = new Float32Array(0);
  readonly #header: BigInt64Array;

  constructor(
    private readonly vocabulary: Vocabulary,
    readonly grammar: Grammar,
  ) {
    const { native, pointer } = vocabulary;
    const patterns = grammar.lazyPatterns;
    const sampler = patterns
      ? native.lazyGrammarNew(pointer, grammar.gbnf, 'root', patterns, patterns.length, new Int32Array(1), 0)
      : native.grammarNew(pointer, grammar.gbnf, 'root');
    if (!sampler)
      throw new AppError('invalid-field', { field: 'grammar', expected: 'valid GBNF with a rule named root' });
    this.#sampler = sampler;
    this.#list = native.alloc(32);
    this.#header = new BigInt64Array(native.view(this.#list, 32));
  }

  keepAllowed(candidates: Candidates): void {
    const { size, ids, logits } = candidates;
    this.#reserve(size);
    for (let index = 0; index < size; index += 1) {
      this.#ids[3 * index] = ids[index] as number;
      this.#logits[3 * index + 1] = logits[index] as number;
    }
    this.#header[1] = BigInt(size);
    this.#header[2] = -1n;
    this.#header[3] = 0n;
    this.vocabulary.native.samplerApply(this.#sampler, this.#list);
    let kept = 0;
    for (let index = 0; index < size; index += 1) {
      if (this.#logits[3 * index + 1] === Number.NEGATIVE_INFINITY) continue;
      ids[kept] = ids[index] as number;
      logits[kept] = logits[index] as number;
      kept += 1;
    }
    candidates.size = kept;
  }

  /** A request begins, in whatever state the last one left the grammar. */
  begin(): void {
    if (!this.grammar.retainState) return;
    const { native } = this.vocabulary;
    if (this.#beginning) native.samplerFree(this.#beginning);
    this.#beginning = native.samplerClone(this.#sampler);
  }

  /** End tokens that did not end the text are no part of it; the library would abort at one in the middle. */
  accept(token: number): void {
    if (!this.vocabulary.isEnd(token)) this.vocabulary.native.samplerAccept(this.#sampler, token);
  }

  replay(tokens: Int32Array): void {
    const { native } = this.vocabulary;
    if (this.#beginning) {
      native.samplerFree(this.#sampler);
      this.#sampler = native.samplerClone(this.#beginning);
    } else {
      native.samplerReset(this.#sampler);
    }
    for (const token of tokens) this.accept(token);
  }

  free(): void {
    const { native } = this.vocabulary;
    native.samplerFree(this.#sampler);
    if (this.#beginning) native.samplerFree(this.#beginning);
    native.free(this.#list);
    if (this.#entries) native.free(this.#entries);
  }

  #reserve(count: number): void {
    if (count <= this.#capacity) return;
    const { native } = this.vocabulary;
    if (this.#entries) native.free(this.#entries);
    this.#entries = native.alloc(count * entryBytes);
    this.#capacity = count;
    const memory = native.view(this.#entries, count * entryBytes);
    this.#ids = new Int32Array(memory);
    this.#logits = new Float32Array(memory);
    this.#header[0] = BigInt(this.#entries);
  }
}
