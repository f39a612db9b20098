import type { OutputFormat } from '../../chat/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { type SchemaToGrammar, schemaOutput } from '../output-schema.ts';
import { invalid, optionalFlag, optionalObject, optionalText, optionalWord } from './fields.ts';

/** What the answer must look like, and how the response object shows it again. */
export interface DecodedFormat {
  readonly output: OutputFormat;
  readonly echo: object;
  readonly verbosity: string;
}

export function decodeFormat(body: JsonObject, schemaToGrammar: SchemaToGrammar): DecodedFormat {
  const wanted = optionalObject(body, 'text') ?? {};
  const verbosity = optionalText(wanted, 'verbosity', 'text') ?? 'medium';
  const format = optionalObject(wanted, 'format', 'text') ?? { type: 'text' };
  const at = 'text.format';
  switch (optionalWord(format, 'type', ['text', 'json_object', 'json_schema'], at)) {
    case 'json_object':
      return { output: { type: 'json' }, echo: { type: 'json_object' }, verbosity };
    case 'json_schema': {
      const schema = optionalObject(format, 'schema', at);
      if (schema === undefined) throw invalid(`${at}.schema`, 'an object');
      const name = optionalText(format, 'name', at) ?? 'response';
      const description = optionalText(format, 'description', at) ?? null;
      const strict = optionalFlag(format, 'strict', at) ?? true;
      const echo = { type: 'json_schema', name, description, schema, strict };
      return { output: schemaOutput(schema, `${at}.schema`, schemaToGrammar), echo, verbosity };
    }
    default:
      return { output: { type: 'text' }, echo: { type: 'text' }, verbosity };
  }
}
