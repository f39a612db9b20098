import type { ReasoningBudget } from '../../../core/request.ts';
import type { JsonObject } from '../../../http/body.ts';
import { isAbsent } from '../../controls/fields.ts';
import { reasoningControl } from '../../dialect.ts';
import { optionalFlag, optionalInteger, optionalObject, optionalText, wrong } from '../fields.ts';

export interface Reasoning {
  readonly effort: string | undefined;
  readonly budget: ReasoningBudget | undefined;
  /** Thinking is told apart from the text. */
  readonly separate: boolean;
}

const tiers: ReadonlySet<string> = new Set(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']);
const otherTiers: Readonly<Record<string, string>> = { off: 'none', ultra: 'max', highest: 'max', lowest: 'minimal' };

export function decodeReasoning(body: JsonObject): Reasoning {
  const nested = optionalObject(body, 'reasoning') ?? {};
  const effort = optionalText(body, 'reasoning_effort') ?? nestedEffort(nested);
  const tokens =
    optionalInteger(body, 'thinking_budget_tokens') ??
    optionalInteger(body, 'reasoning_budget_tokens') ??
    optionalInteger(nested, 'max_tokens');
  return { ...reasoningControl(nearestTier(effort), tokens), separate: separates(body) };
}

function nestedEffort(nested: JsonObject): string | undefined {
  const effort = optionalText(nested, 'effort', 'reasoning.effort');
  return effort ?? (optionalFlag(nested, 'enabled') === false ? 'none' : undefined);
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
function separates(body: JsonObject): boolean {
  const format = optionalText(body, 'reasoning_format');
  if (format !== undefined) {
    const separate = Object.hasOwn(formats, format) ? formats[format] : undefined;
    if (separate === undefined) throw wrong('reasoning_format', '"auto", "deepseek" or "none"');
    if (!separate) return false;
  }
  return !isAbsent(body.timings_per_token) || (optionalFlag(body, 'encapsulate_thinking') ?? true);
}
