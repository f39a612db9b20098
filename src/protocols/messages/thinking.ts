import type { OutputFormat } from '../../chat/request.ts';
import type { ReasoningBudget } from '../../core/request.ts';
import { reasoningControl } from '../dialect.ts';
import { oneOf, optional, readAt, readCount, readObject } from '../fields/readers.ts';
import { type SchemaToGrammar, schemaOutput } from '../output-schema.ts';
import type { CreateFields } from './fields.ts';

export interface ThinkingWishes {
  readonly effort: string | undefined;
  readonly budget: ReasoningBudget | undefined;
  /** For templates that think only when told to. */
  readonly variables: Readonly<Record<string, unknown>>;
}

const readThinking = oneOf('enabled', 'adaptive', 'between_tools', 'disabled');
const optionalCount = optional(readCount);

/**
 * Undefined where the request says nothing about it. Whether the model can think at all does not matter: clients ask for
 * it with every model.
 */
export function decodeThinking({ thinking, output_config }: CreateFields): ThinkingWishes | undefined {
  const type = thinking && readAt(thinking, 'type', 'thinking', readThinking);
  const level = output_config.effort;
  if (type === 'disabled') return { ...reasoningControl('none', undefined), variables: {} };
  const tokens = optionalCount(thinking?.budget_tokens, 'thinking.budget_tokens');
  if (type === 'enabled') return { ...control(level, tokens), variables: { enable_thinking: true } };
  return level === undefined ? undefined : { ...control(level, undefined), variables: {} };
}

/** Templates know three levels. Those above are the highest of them, without a limit. */
function control(level: string | undefined, tokens: number | undefined): Omit<ThinkingWishes, 'variables'> {
  if (level !== 'xhigh' && level !== 'max') return reasoningControl(level, tokens);
  return { effort: 'high', budget: reasoningControl(undefined, tokens).budget };
}

const readFormat = oneOf('json_schema');

/** `output_format` is the older name. */
export function decodeOutput(
  { output_config: { format: today }, output_format: older }: CreateFields,
  schemaToGrammar: SchemaToGrammar,
): OutputFormat {
  const format = today ?? older;
  if (!format) return { type: 'text' };
  const field = today ? 'output_config.format' : 'output_format';
  readAt(format, 'type', field, readFormat);
  return schemaOutput(readAt(format, 'schema', field, readObject), `${field}.schema`, schemaToGrammar);
}
