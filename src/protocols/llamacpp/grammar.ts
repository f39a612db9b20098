import type { Grammar } from '../../core/request.ts';
import { isAbsent, isObject, wrong } from '../fields/readers.ts';
import { grammarOf, type SchemaToGrammar } from '../output-schema.ts';
import type { OptionFields } from './fields.ts';
import { decodeTriggers } from './triggers.ts';

/** `given` is what `grammar` said; `json_schema` is the other way to say it, and both together contradict each other. */
export function decodeGrammar(
  fields: Pick<OptionFields, 'json_schema' | 'grammar_lazy' | 'grammar_triggers'>,
  given: Grammar | undefined,
  schemaToGrammar: SchemaToGrammar,
): Grammar | undefined {
  const schema = fields.json_schema;
  const grammar = isAbsent(schema) ? given : fromSchema(schema, given, schemaToGrammar);
  if (!grammar || !fields.grammar_lazy) return grammar;
  return { ...grammar, triggers: decodeTriggers(fields.grammar_triggers) };
}

function fromSchema(schema: unknown, given: Grammar | undefined, schemaToGrammar: SchemaToGrammar): Grammar {
  if (given) throw wrong('json_schema', 'absent where there is a grammar');
  if (!isObject(schema)) throw wrong('json_schema', 'a JSON schema');
  return { gbnf: grammarOf(schema, 'json_schema', schemaToGrammar), retainState: false };
}
