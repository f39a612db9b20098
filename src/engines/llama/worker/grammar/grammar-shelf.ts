import type { Grammar } from '../../../../core/request.ts';
import { compileGbnf } from '../../../../grammar/recogniser/compile.ts';
import { GrammarMachine } from '../../../../grammar/recogniser/machine.ts';
import type { Vocabulary } from '../text/vocabulary.ts';
import { RequestGrammar } from './grammar.ts';

/** Chats with tools send the same grammar with each turn. */
const kept = 4;

/** Makes the grammars of requests, and keeps what the last ones had found out about their texts. */
export class GrammarShelf {
  readonly #machines = new Map<string, GrammarMachine>();
  /** The grammar of the last request that wanted its state kept. */
  #retained: RequestGrammar | undefined;

  constructor(private readonly vocabulary: Pick<Vocabulary, 'bytes' | 'isEnd' | 'tokenize'>) {}

  /** Throws what is wrong with the grammar. */
  take(grammar: Grammar): RequestGrammar {
    const retained = this.#retained;
    if (!grammar.retainState || retained?.grammar.gbnf !== grammar.gbnf) {
      return new RequestGrammar(this.#machine(grammar.gbnf), this.vocabulary, grammar);
    }
    this.#retained = undefined;
    return retained;
  }

  /** After the end: a grammar whose state is to be kept waits for the next request. */
  giveBack(grammar: RequestGrammar): void {
    if (grammar.grammar.retainState) this.#retained = grammar;
  }

  #machine(gbnf: string): GrammarMachine {
    const machine = this.#machines.get(gbnf) ?? new GrammarMachine(compileGbnf(gbnf, (text) => this.#token(text)));
    // The one that was used last stands last.
    this.#machines.delete(gbnf);
    this.#machines.set(gbnf, machine);
    const [oldest] = this.#machines.keys();
    if (this.#machines.size > kept && oldest !== undefined) this.#machines.delete(oldest);
    return machine;
  }

  #token(text: string): number | undefined {
    const [token, ...rest] = this.vocabulary.tokenize(text, { addSpecial: false, parseSpecial: true });
    return rest.length === 0 ? token : undefined;
  }
}
