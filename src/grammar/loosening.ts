import { type GrammarError, GrammarLimitError } from './error.ts';
import { type Part, replaced, without } from './expand.ts';
import { impliedTypes } from './shape.ts';

/** What becomes of a demand that no grammar can keep: `strict` refuses the schema, `loose` notes it and goes on without. */
export type GrammarMode = 'strict' | 'loose';

/** A demand of a schema that its grammar does not keep. */
export interface Loosened {
  readonly pointer: string;
  /** Undefined where a whole part of the schema became anything. */
  readonly keyword: string | undefined;
}

/** Called with a demand that cannot be kept: returns where it may be left out, and throws it where it may not. */
export type GiveUp = (error: GrammarError, at?: string) => void;

export const refuse: GiveUp = (error) => {
  throw error;
};

/** Far more than anybody reads; a hostile schema could give as many as it has parts. */
const mostNotes = 100;

/** Notes each demand once, in the order in which they were given up. */
export function noting(): { readonly giveUp: GiveUp; readonly notes: () => readonly Loosened[] } {
  const notes = new Map<string, Loosened>();
  return {
    giveUp: (error, at) => {
      if (notes.size >= mostNotes) return;
      const { keyword } = error;
      const pointer = error instanceof GrammarLimitError ? (at ?? error.pointer) : error.pointer;
      notes.set(`${pointer} ${keyword ?? ''}`, { pointer, keyword });
    },
    notes: () => [...notes.values()],
  };
}

/** The parts without what the error complains of; undefined where that is not a single keyword or place of theirs. */
export function withoutDemand(parts: readonly Part[], error: GrammarError): readonly Part[] | undefined {
  if (error instanceof GrammarLimitError) return undefined;
  const { keyword, pointer } = error;
  if (keyword === undefined) return withoutPlace(parts, pointer);
  const having = parts.filter(({ schema }) => Object.hasOwn(schema, keyword));
  if (having.length === 0) return undefined;
  // What several parts ask for together is told of the first of them, whichever has the keyword.
  const blamed = having.filter((part) => part.pointer === pointer);
  const changed = new Set(blamed.length > 0 ? blamed : having);
  return parts.map((part) => (changed.has(part) ? without(typed(part), keyword) : part));
}

/** With the type that its keywords stand for, which would be lost with them. */
function typed(part: Part): Part {
  const types = part.schema.type === undefined ? impliedTypes(part.schema) : [];
  return types.length === 0 ? part : { ...part, schema: { ...part.schema, type: types } };
}

/** A schema inside one of the parts that is none becomes one that allows everything. */
function withoutPlace(parts: readonly Part[], pointer: string): readonly Part[] | undefined {
  const around = parts.find((part) => pointer.startsWith(`${part.pointer}/`));
  const changed = around && replaced(around, pointer.slice(around.pointer.length + 1), true);
  return changed && parts.map((part) => (part === around ? changed : part));
}
