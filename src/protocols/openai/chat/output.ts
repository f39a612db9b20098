import type { OutputFormat } from '../../../chat/request.ts';
import { isAbsent, isObject, optionalObject, readAt, wrong } from '../../fields/readers.ts';
import { type SchemaToGrammar, schemaOutput } from '../../output-schema.ts';
import type { ChatFields } from './fields.ts';

export function decodeOutput(
  { response_format: format, json_schema: schema }: Pick<ChatFields, 'response_format' | 'json_schema'>,
  schemaToGrammar: SchemaToGrammar,
): OutputFormat {
  if (!format) return isAbsent(schema) ? { type: 'text' } : given(schema, 'json_schema');
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return isAbsent(format.schema) ? { type: 'json' } : given(format.schema, 'response_format.schema');
    case 'json_schema': {
      const named = readAt(format, 'json_schema', 'response_format', optionalObject) ?? {};
      // Without a schema any JSON will do.
      return given(named.schema ?? {}, 'response_format.json_schema.schema');
    }
    default:
      throw wrong('response_format.type', '"text", "json_object" or "json_schema"');
  }

  function given(sent: unknown, field: string): OutputFormat {
    if (!isObject(sent) && typeof sent !== 'boolean') throw wrong(field, 'a JSON schema');
    return schemaOutput(sent, field, schemaToGrammar);
  }
}
