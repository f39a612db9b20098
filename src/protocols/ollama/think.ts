import type { ReasoningBudget } from '../../core/request.ts';
import { reasoningControl } from '../dialect.ts';
import { reader } from '../fields/readers.ts';
import type { Settings } from './options.ts';

export interface Thinking {
  readonly effort: string | undefined;
  readonly budget: ReasoningBudget | undefined;
  /** What the model's template is told. */
  readonly variables: Readonly<Record<string, unknown>>;
}

const levels: readonly unknown[] = [true, false, 'low', 'medium', 'high', 'max'];

export const readThink = reader<boolean | string>('true, false, "low", "medium", "high" or "max"', (value) =>
  levels.includes(value),
);

type ThinkingSettings = Pick<Settings, 'reasoning_effort' | 'thinking_budget_tokens'>;

/** `think` over the controls of the native API, which count where it is left out. */
export function decodeThink(
  think: boolean | string | undefined,
  settings: ThinkingSettings,
  native: ReasoningBudget | undefined,
): Thinking {
  if (think === undefined) return { effort: settings.reasoning_effort || undefined, budget: native, variables: {} };
  if (think === false) return { ...reasoningControl('none', undefined), variables: { enable_thinking: false } };
  const effort = think === true ? saidAmount(settings) : String(think);
  return { ...reasoningControl(effort, settings.thinking_budget_tokens), variables: { enable_thinking: true } };
}

/** How much, where `think` says only that there is to be some. */
function saidAmount({ reasoning_effort: effort }: ThinkingSettings): string | undefined {
  return effort === '' || effort === 'none' ? undefined : effort;
}
