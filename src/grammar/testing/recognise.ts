import { whole } from '../../core/slices.ts';
import { compilation, type Program } from '../recogniser/compile.ts';
import { GrammarMachine, mayEnd, startOf, type TextPosition, TextWalk } from '../recogniser/machine.ts';

export function compileGbnf(source: string, findToken: (text: string) => number | undefined): Program {
  return whole(compilation(source, findToken));
}

export function machineOf(gbnf: string, tokens: Readonly<Record<string, number>> = {}): GrammarMachine {
  return new GrammarMachine(compileGbnf(gbnf, (text) => tokens[text]));
}

/** The state after the text; undefined if the grammar rejects it. Each piece is a token. */
export function walked(machine: GrammarMachine, ...pieces: readonly (string | Uint8Array)[]): TextPosition | undefined {
  const walk = new TextWalk(machine);
  let position: TextPosition | undefined = startOf(machine);
  for (const piece of pieces) {
    machine.renewBudget();
    position = position && (piece === '' ? position : walk.after(position, Buffer.from(piece)));
  }
  return position;
}

/** Whether the text is the beginning of one that the grammar describes. */
export function begins(machine: GrammarMachine, text: string): boolean {
  return walked(machine, ...text) !== undefined;
}

/** Whether the grammar describes the text. */
export function accepts(machine: GrammarMachine, text: string): boolean {
  const position = walked(machine, ...text);
  return position !== undefined && mayEnd(position);
}
