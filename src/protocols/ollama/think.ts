import { AppError } from '../../core/errors.ts';
import type { ReasoningBudget } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { isAbsent, readInteger, readText } from '../controls/fields.ts';
import { reasoningControl } from '../dialect.ts';

export interface Thinking {
  readonly effort: string | undefined;
  readonly budget: ReasoningBudget | undefined;
  /** What the model's template is told. */
  readonly variables: Readonly<Record<string, unknown>>;
}

const levels: readonly unknown[] = ['low', 'medium', 'high', 'max'];

/** `think` over the controls of the native API, which count where it is left out. */
export function decodeThink(body: JsonObject, settings: JsonObject, native: ReasoningBudget | undefined): Thinking {
  const { think } = body;
  if (isAbsent(think)) {
    return { effort: readText(settings, 'reasoning_effort') || undefined, budget: native, variables: {} };
  }
  if (think === false) return { ...reasoningControl('none', undefined), variables: { enable_thinking: false } };
  if (think !== true && !levels.includes(think)) {
    throw new AppError('invalid-field', { field: 'think', expected: 'true, false, "low", "medium", "high" or "max"' });
  }
  const tokens = readInteger(settings.thinking_budget_tokens, -1);
  const effort = think === true ? saidAmount(settings) : String(think);
  return { ...reasoningControl(effort, tokens), variables: { enable_thinking: true } };
}

/** How much, where `think` says only that there is to be some. */
function saidAmount(settings: JsonObject): string | undefined {
  const effort = readText(settings, 'reasoning_effort');
  return effort === '' || effort === 'none' ? undefined : effort;
}
