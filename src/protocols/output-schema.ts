import type { OutputFormat } from '../chat/request.ts';
import { AppError } from '../core/errors.ts';

export type SchemaToGrammar = (schema: unknown) => string;

/** A schema that no grammar can express is refused before the request is queued, with its field and the path inside. */
export function schemaOutput(schema: unknown, field: string, schemaToGrammar: SchemaToGrammar): OutputFormat {
  grammarOf(schema, field, schemaToGrammar);
  return { type: 'schema', schema };
}

export function grammarOf(schema: unknown, field: string, schemaToGrammar: SchemaToGrammar): string {
  try {
    return schemaToGrammar(schema);
  } catch (error) {
    throw atField(error, field);
  }
}

function atField(error: unknown, field: string): AppError {
  if (error instanceof AppError && error.code !== 'invalid-field') return error;
  const reason = error instanceof Error ? error.message : String(error);
  const expected =
    error instanceof AppError
      ? (error as AppError<'invalid-field'>).details.expected
      : `a JSON schema that can be turned into a grammar (${reason})`;
  return new AppError('invalid-field', { field, expected }, { cause: error });
}
