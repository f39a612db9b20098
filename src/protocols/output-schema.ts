import type { OutputFormat } from '../chat/request.ts';
import { AppError } from '../core/errors.ts';

export type SchemaToGrammar = (schema: unknown) => string;

/**
 * The answer in a form that the client asked for. A schema that no grammar can follow is refused before the request waits
 * for its turn, with the field it came in and the place inside of it: to answer in another form would be wrong.
 */
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
  if (!(error instanceof AppError)) {
    const reason = error instanceof Error ? error.message : String(error);
    const expected = `a JSON schema that can be turned into a grammar (${reason})`;
    return new AppError('invalid-field', { field, expected }, { cause: error });
  }
  if (error.code !== 'invalid-field') return error;
  const { expected } = (error as AppError<'invalid-field'>).details;
  return new AppError('invalid-field', { field, expected }, { cause: error });
}
