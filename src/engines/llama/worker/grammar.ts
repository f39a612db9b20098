import { AppError } from '../../../core/errors.ts';
import type { Grammar, GrammarTrigger } from '../../../core/request.ts';
import { type Sliced, whole } from '../../../core/slices.ts';
import { compilation } from '../../../grammar/recogniser/compile.ts';
import {
  GrammarMachine,
  mayEnd,
  positionAt,
  startOf,
  type TextPosition,
  TextWalk,
} from '../../../grammar/recogniser/machine.ts';
import { Utf8Characters } from '../../../patterns/characters.ts';
import { compilePattern, PatternSearch } from '../../../patterns/search.ts';
import type { Candidates } from '../../../sampling/candidates.ts';
import type { GrammarFilter } from '../../../sampling/sampler.ts';
import type { Vocabulary } from './text/vocabulary.ts';

/** The grammar of one request: filters the candidates of each step and accepts the chosen token; replays the text after a rewind. */
export class RequestGrammar implements GrammarFilter {
  /** Watches for a trigger; undefined once the grammar has begun. */
  #watch: TriggerWatch | undefined;
  #text: TokenGrammar;
  /** State at the start of this request, which may continue an earlier one. */
  #beginning: { readonly position: TextPosition; readonly waits: boolean };

  constructor(
    private readonly machine: GrammarMachine,
    private readonly vocabulary: GrammarVocabulary,
    readonly grammar: Grammar,
  ) {
    const { triggers } = grammar;
    for (const trigger of triggers ?? []) this.#refuseMisfit(trigger);
    this.#beginning = { position: startOf(machine), waits: triggers !== undefined };
    this.#text = new TokenGrammar(machine, vocabulary);
    this.#restart();
  }

  keepAllowed(candidates: Candidates): void {
    if (!this.#watch) this.#text.keepAllowed(candidates);
  }

  /** Whether it is in effect: from the first token, or from a trigger on. */
  get begun(): boolean {
    return this.#watch === undefined;
  }

  /** Whether its end ends the text: after a trigger, as for a tool call. A grammar from the first token may be followed up to the limit. */
  get endsText(): boolean {
    return this.begun && this.grammar.triggers !== undefined;
  }

  /** Starts a request in the state that the last one left. */
  begin(): void {
    this.#beginning = { position: this.#text.position, waits: this.#watch !== undefined };
  }

  /** False if a trigger was found but the text after it does not match the grammar: it continues without it until the next trigger. */
  accept(token: number): boolean {
    if (this.vocabulary.isEnd(token)) return true;
    if (!this.#watch) {
      this.#text.accept(token);
      return true;
    }
    const pending = this.#watch.push(token, this.vocabulary.bytes(token, true));
    if (!pending) return true;
    const text = new TokenGrammar(this.machine, this.vocabulary);
    const fits = pending.every((part) => ('token' in part ? text.accept(part.token) : text.acceptBytes(part.bytes)));
    this.#watch = fits ? undefined : new TriggerWatch(this.grammar.triggers ?? []);
    if (fits) this.#text = text;
    return fits;
  }

  replay(tokens: Int32Array): void {
    this.#restart();
    for (const token of tokens) this.accept(token);
  }

  #restart(): void {
    const { position, waits } = this.#beginning;
    this.#watch = waits ? new TriggerWatch(this.grammar.triggers ?? []) : undefined;
    this.#text = new TokenGrammar(this.machine, this.vocabulary, position);
  }

  /** Refuses triggers that cannot match; a pattern cannot be checked beforehand. */
  #refuseMisfit(trigger: GrammarTrigger): void {
    if (trigger.type === 'pattern') return;
    const text = new TokenGrammar(this.machine, this.vocabulary);
    const fits = trigger.type === 'token' ? text.accept(trigger.token) : text.acceptBytes(Buffer.from(trigger.text));
    if (fits) return;
    const name = trigger.type === 'token' ? `token ${trigger.token}` : JSON.stringify(trigger.text);
    const expected = `something with which the grammar can begin, which ${name} is not`;
    throw new AppError('invalid-field', { field: 'grammar_triggers', expected });
  }
}

type GrammarVocabulary = Pick<Vocabulary, 'bytes' | 'isEnd'>;

/** The state of one text in a grammar. */
export class TokenGrammar {
  readonly #walk: TextWalk;
  #position: TextPosition;

  constructor(
    private readonly machine: GrammarMachine,
    private readonly vocabulary: GrammarVocabulary,
    position: TextPosition = startOf(machine),
  ) {
    this.#walk = new TextWalk(machine);
    this.#position = position;
  }

  get position(): TextPosition {
    return this.#position;
  }

  /** Removes candidates that may not come next. */
  keepAllowed(candidates: Candidates): void {
    this.machine.renewBudget();
    candidates.retain((token) => this.#allows(token));
  }

  /** Accepts a token; false, without an effect, if the grammar does not allow it. */
  accept(token: number): boolean {
    this.machine.renewBudget();
    const bytes = this.vocabulary.bytes(token, true);
    const named = this.#named(token);
    if (!named) return this.#moveTo(this.#walk.after(this.#position, bytes));
    const spelled = this.#walk.after(this.#position, bytes);
    // Half a character cannot be followed together with a token that is taken as a whole.
    const whole = spelled?.missing === 0 ? spelled.state : undefined;
    return this.#moveTo(positionAt(this.machine.joined(named, whole) ?? named));
  }

  /** Accepts text that need not be whole tokens. */
  acceptBytes(bytes: Uint8Array): boolean {
    this.machine.renewBudget();
    return this.#moveTo(this.#walk.after(this.#position, bytes));
  }

  #moveTo(position: TextPosition | undefined): boolean {
    if (position) this.#position = position;
    return position !== undefined;
  }

  #allows(token: number): boolean {
    if (this.vocabulary.isEnd(token)) return mayEnd(this.#position);
    return this.#walk.allows(this.#position, this.vocabulary.bytes(token, true)) || this.#named(token) !== undefined;
  }

  #named(token: number) {
    const { state, missing } = this.#position;
    return state.hasTokens && missing === 0 ? this.machine.nextToken(state, token) : undefined;
  }
}

/** Number of cached grammars: chats with tools send the same grammar with each turn. */
const maxCached = 4;

/** Creates the grammars of requests, and caches the machines of the last ones. */
export class GrammarCache {
  readonly #machines = new Map<string, GrammarMachine>();
  /** The grammar of the last request with `retainState`. */
  #retained: RequestGrammar | undefined;

  constructor(private readonly vocabulary: Pick<Vocabulary, 'bytes' | 'isEnd' | 'tokenize'>) {}

  /** Throws an error that names the fault of an invalid grammar. */
  take(grammar: Grammar): RequestGrammar {
    const retained = this.#retained;
    if (!grammar.retainState || retained?.grammar.gbnf !== grammar.gbnf) {
      return new RequestGrammar(this.#machine(grammar.gbnf), this.vocabulary, grammar);
    }
    this.#retained = undefined;
    return retained;
  }

  /** After the end: keeps a grammar with `retainState` for the next request. */
  giveBack(grammar: RequestGrammar): void {
    if (grammar.grammar.retainState) this.#retained = grammar;
  }

  /** Compiles a grammar ahead of `take`, in slices, so that a large one does not hold up other requests. */
  *prepare({ gbnf }: Grammar): Sliced<void> {
    if (!this.#machines.has(gbnf)) this.#keep(gbnf, yield* this.#compiled(gbnf));
  }

  #machine(gbnf: string): GrammarMachine {
    const machine = this.#machines.get(gbnf) ?? whole(this.#compiled(gbnf));
    this.#keep(gbnf, machine);
    return machine;
  }

  *#compiled(gbnf: string): Sliced<GrammarMachine> {
    return new GrammarMachine(yield* compilation(gbnf, (text) => this.#token(text)));
  }

  #keep(gbnf: string, machine: GrammarMachine): void {
    // Least recently used first.
    this.#machines.delete(gbnf);
    this.#machines.set(gbnf, machine);
    const [oldest] = this.#machines.keys();
    if (this.#machines.size > maxCached && oldest !== undefined) this.#machines.delete(oldest);
  }

  #token(text: string): number | undefined {
    const [token, ...rest] = this.vocabulary.tokenize(text, { addSpecial: false, parseSpecial: true });
    return rest.length === 0 ? token : undefined;
  }
}

/** Text that the grammar must still accept: a whole token, or the last bytes of one. */
type Pending = { readonly token: number } | { readonly bytes: Uint8Array };

interface Read {
  readonly token: number;
  readonly bytes: Uint8Array;
  /** Offset of its first byte in the text since the watch began. */
  readonly offset: number;
}

/** Reads a text until a trigger of the grammar. Each character is read once. */
export class TriggerWatch {
  readonly #searches: readonly PatternSearch[];
  readonly #tokens: ReadonlySet<number>;
  readonly #characters = new Utf8Characters();
  readonly #read: Read[] = [];
  #offset = 0;

  constructor(triggers: readonly GrammarTrigger[]) {
    const patterns = triggers.flatMap((trigger) => patternOf(trigger) ?? []);
    this.#searches = patterns.map((pattern) => new PatternSearch(compilePattern(pattern)));
    this.#tokens = new Set(triggers.flatMap((trigger) => (trigger.type === 'token' ? [trigger.token] : [])));
  }

  /** The text from the trigger on; undefined without one. */
  push(token: number, bytes: Uint8Array): readonly Pending[] | undefined {
    if (this.#tokens.has(token)) return [{ token }];
    this.#read.push({ token, bytes, offset: this.#offset });
    for (const byte of bytes) {
      this.#characters.push(byte, this.#offset, (code, offset) => {
        for (const search of this.#searches) search.push(code, offset);
      });
      this.#offset += 1;
    }
    for (const search of this.#searches) {
      const start = search.found(this.#offset);
      if (start !== undefined) return this.#since(start);
    }
    return undefined;
  }

  #since(start: number): readonly Pending[] {
    return this.#read.flatMap(({ token, bytes, offset }): Pending[] => {
      if (offset + bytes.length <= start) return [];
      return [offset >= start ? { token } : { bytes: bytes.subarray(start - offset) }];
    });
  }
}

function patternOf(trigger: GrammarTrigger): string | undefined {
  if (trigger.type === 'token') return undefined;
  return trigger.type === 'pattern' ? trigger.source : trigger.text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
