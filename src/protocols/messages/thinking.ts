import type { OutputFormat } from '../../chat/request.ts';
import type { ReasoningBudget } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { reasoningControl } from '../dialect.ts';
import { type SchemaToGrammar, schemaOutput } from '../output-schema.ts';
import { oneOf, optional, readCount, readObject } from './readers.ts';

export interface ThinkingWishes {
  readonly effort: string | undefined;
  readonly budget: ReasoningBudget | undefined;
  /** For templates that think only when told to. */
  readonly variables: Readonly<Record<string, unknown>>;
}

const readThinking = oneOf('enabled', 'adaptive', 'between_tools', 'disabled');
const readEffort = oneOf('low', 'medium', 'high', 'xhigh', 'max');

/**
 * Undefined where the request says nothing about it. Whether the model can think at all does not matter: clients ask for
 * it with every model.
 */
export function decodeThinking(body: JsonObject): ThinkingWishes | undefined {
  const thinking = optional(body.thinking, 'thinking', readObject);
  const type = thinking && readThinking(thinking.type, 'thinking.type');
  const level = optional(outputConfig(body).effort, 'output_config.effort', readEffort);
  if (type === 'disabled') return { ...reasoningControl('none', undefined), variables: {} };
  const tokens = optional(thinking?.budget_tokens, 'thinking.budget_tokens', readCount);
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
export function decodeOutput(body: JsonObject, schemaToGrammar: SchemaToGrammar): OutputFormat {
  const older = optional(body.output_format, 'output_format', readObject);
  const format = optional(outputConfig(body).format, 'output_config.format', readObject) ?? older;
  if (!format) return { type: 'text' };
  const field = format === older ? 'output_format' : 'output_config.format';
  readFormat(format.type, `${field}.type`);
  return schemaOutput(readObject(format.schema, `${field}.schema`), `${field}.schema`, schemaToGrammar);
}

function outputConfig(body: JsonObject): JsonObject {
  return optional(body.output_config, 'output_config', readObject) ?? {};
}
