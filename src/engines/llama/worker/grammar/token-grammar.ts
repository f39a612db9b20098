import type { GrammarMachine } from '../../../../grammar/recogniser/machine.ts';
import { mayEnd, type Standing, standingAt, startOf, TextWalk } from '../../../../grammar/recogniser/walk.ts';
import type { Candidates } from '../../../../sampling/candidates.ts';
import type { Vocabulary } from '../text/vocabulary.ts';

export type GrammarVocabulary = Pick<Vocabulary, 'bytes' | 'isEnd'>;

/** Where the tokens of one text stand in a grammar. */
export class TokenGrammar {
  readonly #walk: TextWalk;
  #standing: Standing;

  constructor(
    private readonly machine: GrammarMachine,
    private readonly vocabulary: GrammarVocabulary,
    standing: Standing = startOf(machine),
  ) {
    this.#walk = new TextWalk(machine);
    this.#standing = standing;
  }

  get standing(): Standing {
    return this.#standing;
  }

  /** Takes out what may not come next. */
  keepAllowed(candidates: Candidates): void {
    const { size, ids, logits } = candidates;
    this.machine.renewBudget();
    let kept = 0;
    for (let index = 0; index < size; index += 1) {
      const token = ids[index] as number;
      if (!this.#allows(token)) continue;
      ids[kept] = token;
      logits[kept] = logits[index] as number;
      kept += 1;
    }
    candidates.size = kept;
  }

  /** Goes on with a token; false, and nothing happens, where the grammar does not allow it. */
  accept(token: number): boolean {
    this.machine.renewBudget();
    const bytes = this.vocabulary.bytes(token, true);
    const named = this.#named(token);
    if (!named) return this.#stand(this.#walk.after(this.#standing, bytes));
    const spelled = this.#walk.after(this.#standing, bytes);
    // Half a character cannot be followed together with a token that is taken as a whole.
    const whole = spelled?.missing === 0 ? spelled.state : undefined;
    return this.#stand(standingAt(this.machine.joined(named, whole) ?? named));
  }

  /** Goes on with a text that need not be whole tokens. */
  acceptBytes(bytes: Uint8Array): boolean {
    this.machine.renewBudget();
    return this.#stand(this.#walk.after(this.#standing, bytes));
  }

  #stand(standing: Standing | undefined): boolean {
    if (standing) this.#standing = standing;
    return standing !== undefined;
  }

  #allows(token: number): boolean {
    if (this.vocabulary.isEnd(token)) return mayEnd(this.#standing);
    return this.#walk.allows(this.#standing, this.vocabulary.bytes(token, true)) || this.#named(token) !== undefined;
  }

  #named(token: number) {
    const { state, missing } = this.#standing;
    return state.hasTokens && missing === 0 ? this.machine.nextToken(state, token) : undefined;
  }
}
