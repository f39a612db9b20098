import type { OutputFormat } from '../../../chat/request.ts';
import { AppError, asAppError } from '../../../core/errors.ts';
import type { JsonObject } from '../../../http/body.ts';
import { isAbsent, isObject } from '../../controls/fields.ts';
import { optionalObject, wrong } from '../fields.ts';

type Convert = (schema: unknown) => unknown;

/** A schema that no grammar can follow is refused here, before the request waits for its turn. */
export function decodeOutput(body: JsonObject, schemaToGrammar: Convert): OutputFormat {
  const format = optionalObject(body, 'response_format');
  if (!format) return isAbsent(body.json_schema) ? { type: 'text' } : schemaOutput(body.json_schema, 'json_schema');
  switch (format.type) {
    case 'text':
      return { type: 'text' };
    case 'json_object':
      return isAbsent(format.schema) ? { type: 'json' } : schemaOutput(format.schema, 'response_format.schema');
    case 'json_schema': {
      const named = optionalObject(format, 'json_schema', 'response_format.json_schema') ?? {};
      // Without a schema any JSON will do.
      return schemaOutput(named.schema ?? {}, 'response_format.json_schema.schema');
    }
    default:
      throw wrong('response_format.type', '"text", "json_object" or "json_schema"');
  }

  function schemaOutput(schema: unknown, field: string): OutputFormat {
    if (!isObject(schema) && typeof schema !== 'boolean') throw wrong(field, 'a JSON schema');
    try {
      schemaToGrammar(schema);
    } catch (error) {
      throw atField(asAppError(error), field);
    }
    return { type: 'schema', schema };
  }
}

function atField(error: AppError, field: string): AppError {
  if (error.code !== 'invalid-field') return error;
  const { expected } = (error as AppError<'invalid-field'>).details;
  return new AppError('invalid-field', { field, expected }, { cause: error });
}
