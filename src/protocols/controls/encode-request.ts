import type { WireBody } from '../../chat/openai-request.ts';
import { encodeAdapters } from '../../core/lora.ts';
import type { EndTokens, GenerationControls, ReasoningBudget } from '../../core/request.ts';
import {
  type SamplerApi,
  type SamplingName,
  samplerStages,
  samplersOfApi,
  samplingFields,
  samplingNames,
} from '../../core/sampling-fields.ts';
import { effortShares } from './decode.ts';

/** How a neutral request is written as the body of a dialect. */
export interface EncodeOptions {
  readonly model: string;
  readonly stream: boolean;
  /** The controls that a request without any gets from the server: equal ones need not be sent. */
  readonly defaults: GenerationControls;
}

/** The controls by their native names, which every dialect accepts; without those of its media and its reasoning. */
export function encodeControls(controls: GenerationControls, defaults: GenerationControls): WireBody {
  const { grammar, guidance, sampling } = controls;
  const differs = (name: keyof GenerationControls): boolean =>
    JSON.stringify(controls[name]) !== JSON.stringify(defaults[name]);
  const body: WireBody = { max_length: controls.maxTokens };
  for (const name of samplingNames) {
    if (sampling[name] !== defaults.sampling[name]) body[samplingFields[name].wire[0]] = sampling[name];
  }
  if (sampling.order.join() !== defaults.sampling.order.join()) {
    body.sampler_order = sampling.order.map((stage) => samplerStages.indexOf(stage));
  }
  if (sampling.dryBreakers.length > 0) body.dry_sequence_breakers = sampling.dryBreakers;
  if (differs('maxContext')) body.max_context_length = controls.maxContext;
  if (differs('stop')) body.stop_sequence = controls.stop;
  if (differs('trimStop')) body.trim_stop = controls.trimStop;
  if (differs('renderSpecial')) body.render_special = controls.renderSpecial === true;
  if (differs('logitBias')) body.logit_bias = Object.fromEntries(controls.logitBias);
  if (differs('bannedStrings')) body.banned_tokens = controls.bannedStrings;
  if (differs('grammar') && grammar) body.grammar = grammar.gbnf;
  if (grammar?.retainState || controls.retainsGrammar) body.grammar_retain_state = true;
  if (differs('guidance') && guidance) {
    body.negative_prompt = guidance.negativePrompt;
    body.guidance_scale = guidance.scale;
  }
  if (differs('endTokens')) Object.assign(body, endTokenFields[controls.endTokens]);
  if (differs('adapters')) {
    body.lora = encodeAdapters(controls.adapters ?? []);
  }
  if (controls.freshPrompt && !defaults.freshPrompt) body.cache_prompt = false;
  return body;
}

const endTokenFields: Readonly<Record<EndTokens, WireBody>> = {
  stop: { bypass_eos: false, ban_eos_token: false },
  ban: { ban_eos_token: true },
  ignore: { bypass_eos: true },
};

/** `reasoning_effort` and `thinking_budget_tokens`, which many dialects have under these names. */
export function encodeReasoning(budget: ReasoningBudget | undefined, effort?: string): WireBody {
  const share = budget?.type === 'share' ? budget.share : undefined;
  const level = effort ?? [...effortShares].find(([, value]) => value === share)?.[0];
  return {
    ...(level !== undefined && { reasoning_effort: level }),
    ...(budget?.type === 'tokens' && { thinking_budget_tokens: budget.tokens }),
  };
}

/** The fields under other names; a name that is not in the list stays. */
export function renamed(body: WireBody, names: Readonly<Record<string, string>>): WireBody {
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [names[name] ?? name, value]));
}

/** From the first native name of each sampler to its name in an API that has it. */
export function samplerNames(api: SamplerApi): Readonly<Record<string, string>> {
  const names = Object.entries(samplersOfApi(api)) as readonly (readonly [SamplingName, string])[];
  return Object.fromEntries(names.map(([name, field]) => [samplingFields[name].wire[0], field]));
}

/** Placeholders of instruct tags are replaced already: a text that has some by itself must be left alone. */
export function placeholderField(...texts: readonly string[]): WireBody {
  return texts.some((text) => text.includes('{{[')) ? { replace_instruct_placeholders: false } : {};
}
