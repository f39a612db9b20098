import type { OutputFormat } from '../../../chat/request.ts';
import type { JsonObject } from '../../../http/body.ts';
import { isAbsent, isObject } from '../../controls/fields.ts';
import { type SchemaToGrammar, schemaOutput } from '../../output-schema.ts';
import { optionalObject, wrong } from '../fields.ts';

export function decodeOutput(body: JsonObject, schemaToGrammar: SchemaToGrammar): OutputFormat {
  const format = optionalObject(body, 'response_format');
  if (!format) return isAbsent(body.json_schema) ? { type: 'text' } : given(body.json_schema, 'json_schema');
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return isAbsent(format.schema) ? { type: 'json' } : given(format.schema, 'response_format.schema');
    case 'json_schema': {
      const named = optionalObject(format, 'json_schema', 'response_format.json_schema') ?? {};
      // Without a schema any JSON will do.
      return given(named.schema ?? {}, 'response_format.json_schema.schema');
    }
    default:
      throw wrong('response_format.type', '"text", "json_object" or "json_schema"');
  }

  function given(schema: unknown, field: string): OutputFormat {
    if (!isObject(schema) && typeof schema !== 'boolean') throw wrong(field, 'a JSON schema');
    return schemaOutput(schema, field, schemaToGrammar);
  }
}
