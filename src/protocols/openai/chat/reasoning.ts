import type { ReasoningBudget } from '../../../core/request.ts';
import { reasoningControl } from '../../dialect.ts';
import { wrong } from '../../fields/readers.ts';
import type { ChatFields } from './fields.ts';

export interface Reasoning {
  readonly effort: string | undefined;
  readonly budget: ReasoningBudget | undefined;
  /** Thinking is told apart from the text. */
  readonly separate: boolean;
}

const tiers: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const otherTiers: Readonly<Record<string, string>> = { off: 'none', ultra: 'max', highest: 'max', lowest: 'minimal' };

export function decodeReasoning(fields: ChatFields): Reasoning {
  const { reasoning } = fields;
  const effort = fields.reasoning_effort ?? reasoning.effort ?? (reasoning.enabled === false ? 'none' : undefined);
  const tokens = fields.thinking_budget_tokens ?? fields.reasoning_budget_tokens ?? reasoning.max_tokens;
  return { ...reasoningControl(nearestTier(effort), tokens), separate: separates(fields) };
}

/** A tier that nobody knows is a wish for thinking of no particular strength, not a reason to refuse. */
function nearestTier(effort: string | undefined): string | undefined {
  if (effort === undefined || effort === '' || tiers.has(effort)) return effort || undefined;
  return otherTiers[effort] ?? 'medium';
}

const formats: Readonly<Record<string, boolean>> = {
  none: false,
  auto: true,
  deepseek: true,
  'deepseek-legacy': true,
};

/** The page of llama.cpp, known by its wish for timings, relies on the thinking being told apart. */
function separates(fields: ChatFields): boolean {
  const format = fields.reasoning_format;
  if (format !== undefined) {
    const separate = Object.hasOwn(formats, format) ? formats[format] : undefined;
    if (separate === undefined) throw wrong('reasoning_format', '"auto", "deepseek" or "none"');
    if (!separate) return false;
  }
  return fields.timings_per_token !== undefined || fields.encapsulate_thinking;
}
