import { AppError } from '../../core/errors.ts';
import type { Grammar } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject, readFlag } from '../controls/fields.ts';
import { grammarOf } from '../output-schema.ts';
import { decodeTriggers } from './triggers.ts';

/** `given` is what `grammar` said; `json_schema` is the other way to say it, and both together contradict each other. */
export function decodeGrammar(
  body: JsonObject,
  given: Grammar | undefined,
  schemaToGrammar: (schema: unknown) => string,
): Grammar | undefined {
  const grammar = isAbsent(body.json_schema) ? given : fromSchema(body.json_schema, given, schemaToGrammar);
  if (!grammar || !readFlag(body, 'grammar_lazy', false)) return grammar;
  return { ...grammar, triggers: decodeTriggers(body.grammar_triggers) };
}

function fromSchema(
  schema: unknown,
  given: Grammar | undefined,
  schemaToGrammar: (schema: unknown) => string,
): Grammar {
  if (given) throw new AppError('invalid-field', { field: 'json_schema', expected: 'absent where there is a grammar' });
  if (!isObject(schema)) throw new AppError('invalid-field', { field: 'json_schema', expected: 'a JSON schema' });
  return { gbnf: grammarOf(schema, 'json_schema', schemaToGrammar), retainState: false };
}
