import { AppError } from '../../core/errors.ts';
import type { Grammar } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject, readFlag } from '../controls/fields.ts';
import { grammarOf } from '../output-schema.ts';

const triggerTypes = { token: 0, word: 1, pattern: 2, wholePattern: 3 };

/** `given` is what `grammar` said; `json_schema` is the other way to say it, and both together contradict each other. */
export function decodeGrammar(
  body: JsonObject,
  given: Grammar | undefined,
  schemaToGrammar: (schema: unknown) => string,
): Grammar | undefined {
  const grammar = isAbsent(body.json_schema) ? given : fromSchema(body.json_schema, given, schemaToGrammar);
  if (!grammar || !readFlag(body, 'grammar_lazy', false)) return grammar;
  return { ...grammar, lazyPatterns: decodeTriggers(body.grammar_triggers) };
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

/** What has to appear in the text for the grammar to begin: what is matched belongs to what the grammar rules. */
function decodeTriggers(value: unknown): readonly string[] {
  const triggers = Array.isArray(value) ? value : [];
  if (triggers.length === 0) {
    throw new AppError('invalid-field', { field: 'grammar_triggers', expected: 'given where grammar_lazy is on' });
  }
  return triggers.map((trigger) => {
    if (!isObject(trigger) || typeof trigger.value !== 'string') {
      throw new AppError('invalid-field', { field: 'grammar_triggers', expected: 'an array of {"type", "value"}' });
    }
    if (trigger.type === triggerTypes.wholePattern) return trigger.value;
    const pattern = trigger.type === triggerTypes.pattern ? trigger.value : escaped(trigger.value);
    return `[\\s\\S]*?(${pattern}[\\s\\S]*)`;
  });
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
