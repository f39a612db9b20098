import { AppError } from '../../core/errors.ts';
import type {
  EndTokens,
  GenerationControls,
  GenerationRequest,
  Overflow,
  ReasoningBudget,
} from '../../core/request.ts';
import {
  defaultSamplerOrder,
  type Sampling,
  type SamplingField,
  type SamplingName,
  samplingFields,
  samplingNames,
} from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { clamp, readFields } from '../fields.ts';
import { type Controls, controlFields, decodeGrammar, joinBiases } from './table.ts';

/** Limits and defaults of the server. */
export interface ControlLimits {
  readonly defaultMaxTokens: number;
  /** Hard cap of the reply; 0 means none. */
  readonly maxTokensLimit: number;
  readonly contextSize: number;
  /** Of prompts that are too long, in dialects that do not always trim them. */
  readonly overflow: Overflow;
  /** Whether a second, negative prompt may steer the text. */
  readonly guidance: boolean;
  /** With `--websearch`. */
  readonly searchesWeb?: boolean;
  /** Whether the server runs the memory tool of a request itself (`--memory`). */
  readonly remembers?: boolean;
  /** Whether an MCP server is one of `--mcpallow`, which gets the credentials of the client. */
  readonly isClientServer?: ((url: string) => boolean) | undefined;
  readonly adapter: AdapterDefaults & { readonly maxTokens?: number };
  /** Throws when the schema cannot be expressed. */
  readonly schemaToGrammar: (schema: unknown) => string;
}

const alternatives = 10;

/** How much of the reply each level of effort may spend on thinking; levels above these have no limit. */
export const effortShares: ReadonlyMap<string, number> = new Map(
  Object.entries({ none: 0, minimal: 0.1, low: 0.25, medium: 0.5, high: 0.75 }),
);

export function readControls(body: JsonObject): Controls {
  return readFields(controlFields, body);
}

/** A dialect overrides the result where it has its own field for the same thing. */
export function decodeControls(controls: Controls, limits: ControlLimits): GenerationControls {
  return {
    media: [],
    maxTokens: limitTokens(controls.max_length || 0, limits),
    maxContext: smallerContext(controls.max_context_length, limits.contextSize),
    overflow: 'trim',
    sampling: decodeSampling(controls, limits.adapter),
    logitBias: joinBiases(controls.logit_bias, controls.custom_token_bans),
    bannedTokens: [],
    bannedStrings: controls.banned_tokens ?? controls.banned_strings,
    grammar: decodeGrammar(controls, limits.schemaToGrammar),
    ...(controls.grammar_retain_state ? { retainsGrammar: true } : {}),
    guidance: decodeGuidance(controls, limits.guidance),
    stop: controls.stop_sequence,
    trimStop: controls.trim_stop,
    endTokens: decodeEndTokens(controls),
    renderSpecial: controls.render_special,
    logprobs: controls.logprobs ? alternatives : undefined,
    reasoning: decodeReasoning(controls),
    ...(controls.lora ? { adapters: controls.lora } : {}),
    ...(controls.cache_prompt ? {} : { freshPrompt: true }),
  };
}

/** The length of the reply: the requested one, or for 0 and less the server's default, up to its cap. */
export function limitTokens(
  requested: number,
  limits: Pick<ControlLimits, 'defaultMaxTokens' | 'maxTokensLimit' | 'contextSize'>,
): number {
  const half = Math.max(1, Math.floor(limits.contextSize / 2));
  const length = requested > 0 ? requested : Math.min(limits.defaultMaxTokens, half);
  return limits.maxTokensLimit > 0 ? Math.min(length, limits.maxTokensLimit) : length;
}

/** For chats: the default length of a reply is that of the adapter of the request or of the server. */
export function chatLimits(
  { adapter: { max_length: own } }: Pick<Controls, 'adapter'>,
  limits: ControlLimits,
): ControlLimits {
  const length = own === undefined || Number.isNaN(own) ? (limits.adapter.maxTokens ?? 0) : own;
  return length > 0 ? { ...limits, defaultMaxTokens: Math.trunc(length) } : limits;
}

/** `repeat_last_n` of other dialects: negative is the whole context, 0 switches the penalties off. */
export function penaltyRange(range: number | undefined, contextSize: number): Partial<Sampling> {
  if (range === undefined || Number.isNaN(range)) return {};
  if (range === 0) return { repetitionPenalty: 1, presencePenalty: 0, frequencyPenalty: 0 };
  return { repetitionRange: range < 0 ? contextSize : range };
}

/** Undefined unless the request limits the context to less than the server has. */
export function smallerContext(requested = 0, contextSize: number): number | undefined {
  return requested > 0 && requested < contextSize ? requested : undefined;
}

/** `negative_prompt` or `guidance_scale`, whichever was sent without the other: they only have an effect together. */
export function idleFields(controls: GuidanceControls): readonly string[] {
  const { negativePrompt, scale } = guidanceOf(controls);
  if (scale === 1) return negativePrompt === '' ? [] : ['negative_prompt'];
  return negativePrompt === '' ? ['guidance_scale'] : [];
}

type GuidanceControls = Pick<Controls, 'negative_prompt' | 'guidance_scale'>;

function guidanceOf(controls: GuidanceControls) {
  return { negativePrompt: controls.negative_prompt, scale: Math.max(0, controls.guidance_scale) };
}

function decodeGuidance(controls: Controls, enabled: boolean): GenerationRequest['guidance'] {
  const { negativePrompt, scale } = guidanceOf(controls);
  if (negativePrompt === '') return undefined;
  if (scale !== 1 && !enabled) {
    const instead = 'start the server with --enableguidance';
    throw new AppError('unsupported', { feature: 'negative_prompt', instead });
  }
  return { negativePrompt, scale };
}

function decodeEndTokens(controls: Controls): EndTokens {
  if (controls.bypass_eos) return 'ignore';
  return (controls.ban_eos_token ?? (controls.use_default_badwordsids || controls.ignore_eos)) ? 'ban' : 'stop';
}

function decodeReasoning(controls: Controls): ReasoningBudget | undefined {
  const share = effortShares.get(controls.reasoning_effort ?? '');
  if (share !== undefined) return { type: 'share', share };
  const tokens = controls.thinking_budget_tokens;
  return tokens >= 0 ? { type: 'tokens', tokens } : undefined;
}

/** The controls for which a chat adapter, of the request or of the server, may carry its own default. */
const adapterControls = ['temperature', 'topK', 'topP', 'minP'] as const;
type AdapterDefaults = { readonly [Name in (typeof adapterControls)[number]]?: number };

/** The default is that of the adapter of the request, else that of the server's adapter, else that of the table. */
export function decodeSampling(controls: Controls, loaded: AdapterDefaults): Sampling {
  const defaults: Partial<Record<SamplingName, number>> = {};
  for (const name of adapterControls) {
    const fallback = loaded[name] ?? samplingFields[name].default;
    defaults[name] = inRange(controls.adapter[samplingFields[name].wire[0]], samplingFields[name], fallback);
  }
  const values = {} as { [Name in SamplingName]: number };
  for (const name of samplingNames) {
    const field: SamplingField = samplingFields[name];
    values[name] = inRange(sentValue(controls, name), field, defaults[name] ?? field.default);
  }
  return {
    ...values,
    repetitionSlope: values.repetitionSlope > 0 && values.repetitionSlope <= 1 ? values.repetitionSlope : 1,
    order: controls.sampler_order ?? defaultSamplerOrder,
    dryBreakers: controls.dry_sequence_breakers,
  };
}

function inRange(value: number | undefined, { min, max }: SamplingField, fallback: number): number {
  return clamp(numberOr(value, fallback), min, max);
}

/** The value under the first name present, or the highest of all names, where an absent one counts as the default. */
function sentValue(controls: Controls, name: SamplingName): number | undefined {
  const { highestWins, default: fallback }: SamplingField = samplingFields[name];
  const values = samplingFields[name].wire.map((field) => controls[field]);
  return highestWins
    ? Math.max(...values.map((value) => numberOr(value, fallback)))
    : values.find((value) => value !== undefined);
}

/** A value that is not a number counts as missing. */
function numberOr(value: number | undefined, fallback: number): number {
  return value === undefined || Number.isNaN(value) ? fallback : value;
}
