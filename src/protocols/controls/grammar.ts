import type { Grammar } from '../../core/request.ts';
import { described, isObject, type Read, readText } from '../fields/readers.ts';
import { grammarOf, type SchemaToGrammar } from '../output-schema.ts';
import type { Controls } from './table.ts';

/** GBNF, or a JSON schema as itself or as its text. */
type SentGrammar = { readonly gbnf: string } | { readonly schema: unknown };

export const readGrammarText: Read<SentGrammar> = described({ type: ['string', 'object'] }, (value, path) => {
  if (isObject(value)) return { schema: value };
  const text = readText(value, path);
  const schema = schemaInText(text);
  return schema === undefined ? { gbnf: text } : { schema };
});

export function decodeGrammar(
  { grammar, grammar_retain_state: retainState }: Controls,
  schemaToGrammar: SchemaToGrammar,
): Grammar | undefined {
  if (grammar === undefined) return undefined;
  const gbnf = 'schema' in grammar ? grammarOf(grammar.schema, 'grammar', schemaToGrammar) : grammar.gbnf;
  return gbnf.trim() === '' ? undefined : { gbnf, retainState };
}

/** No GBNF text is valid JSON, so whatever parses was meant as a schema. */
function schemaInText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
