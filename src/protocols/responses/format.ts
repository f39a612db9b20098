import type { OutputFormat } from '../../chat/request.ts';
import { optional, optionalFlag, optionalText, readAt, readObject, word } from '../fields/readers.ts';
import { type SchemaToGrammar, schemaOutput } from '../output-schema.ts';
import type { CreateFields } from './fields.ts';

/** What the answer must look like, and how the response object shows it again. */
export interface DecodedFormat {
  readonly output: OutputFormat;
  readonly echo: object;
  readonly verbosity: string;
}

const readType = optional(word('text', 'json_object', 'json_schema'));

export function decodeFormat({ text: wanted }: CreateFields, schemaToGrammar: SchemaToGrammar): DecodedFormat {
  const verbosity = wanted.verbosity ?? 'medium';
  const format = wanted.format ?? { type: 'text' };
  const at = 'text.format';
  switch (readAt(format, 'type', at, readType)) {
    case 'json_object':
      return { output: { type: 'json' }, echo: { type: 'json_object' }, verbosity };
    case 'json_schema': {
      const schema = readAt(format, 'schema', at, readObject);
      const name = readAt(format, 'name', at, optionalText) ?? 'response';
      const description = readAt(format, 'description', at, optionalText) ?? null;
      const strict = readAt(format, 'strict', at, optionalFlag) ?? true;
      const echo = { type: 'json_schema', name, description, schema, strict };
      return { output: schemaOutput(schema, `${at}.schema`, schemaToGrammar), echo, verbosity };
    }
    default:
      return { output: { type: 'text' }, echo: { type: 'text' }, verbosity };
  }
}
