import { AppError } from '../../core/errors.ts';
import type { EndTokens, GenerationControls, GenerationRequest, ReasoningBudget } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { readAt } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { joinBiases } from './bias.ts';
import { type AdapterDefaults, decodeSampling } from './sampling.ts';
import { type Controls, controlFields, decodeGrammar } from './table.ts';

/** What the server adds to a request of its own. */
export interface ControlParts {
  readonly defaultMaxTokens: number;
  /** Hard cap of the reply; 0 means none. */
  readonly maxTokensLimit: number;
  readonly contextSize: number;
  /** Whether a second, negative prompt may steer the text. */
  readonly guidance: boolean;
  readonly adapter: AdapterDefaults & { readonly maxTokens?: number };
  /** Throws when the schema cannot be expressed. */
  readonly schemaToGrammar: (schema: unknown) => string;
}

const alternatives = 10;

/** How much of the reply each level of effort may spend on thinking; levels above these have no limit. */
export const effortShares: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['minimal', 0.1],
  ['low', 0.25],
  ['medium', 0.5],
  ['high', 0.75],
]);

export function readControls(body: JsonObject): Controls {
  return readFields(controlFields, body);
}

/** Where a family has its own field for the same thing, it puts that over what this returns. */
export function decodeControls(controls: Controls, parts: ControlParts): GenerationControls {
  return {
    media: [],
    maxTokens: limitTokens(controls.max_length || 0, parts),
    maxContext: decodeMaxContext(controls, parts.contextSize),
    overflow: 'trim',
    sampling: decodeSampling(controls, parts.adapter),
    logitBias: joinBiases(controls.logit_bias, controls.custom_token_bans),
    bannedTokens: [],
    bannedStrings: controls.banned_tokens ?? controls.banned_strings,
    grammar: decodeGrammar(controls, parts.schemaToGrammar),
    ...(controls.grammar_retain_state ? { retainsGrammar: true } : {}),
    guidance: decodeGuidance(controls, parts.guidance),
    stop: controls.stop_sequence,
    trimStop: controls.trim_stop,
    endTokens: decodeEndTokens(controls),
    renderSpecial: controls.render_special,
    logprobs: controls.logprobs ? alternatives : undefined,
    reasoning: decodeReasoning(controls),
    ...(controls.cache_prompt ? {} : { freshPrompt: true }),
  };
}

/** The length of the reply: what was asked for, or the server's default for 0 and less, and never beyond its cap. */
export function limitTokens(
  asked: number,
  parts: Pick<ControlParts, 'defaultMaxTokens' | 'maxTokensLimit' | 'contextSize'>,
): number {
  const half = Math.max(1, Math.floor(parts.contextSize / 2));
  const wanted = asked > 0 ? asked : Math.min(parts.defaultMaxTokens, half);
  return parts.maxTokensLimit > 0 ? Math.min(wanted, parts.maxTokensLimit) : wanted;
}

/** For chats, in which the adapter of the request or of the server says how long a reply is that leaves it open. */
export function withAdapterLength(body: JsonObject): (parts: ControlParts) => ControlParts {
  const { max_length: own } = readAt(body, 'adapter', '', controlFields.adapter.read);
  return (parts) => {
    const length = own === undefined || Number.isNaN(own) ? (parts.adapter.maxTokens ?? 0) : own;
    return length > 0 ? { ...parts, defaultMaxTokens: Math.trunc(length) } : parts;
  };
}

function decodeMaxContext({ max_context_length: asked }: Controls, contextSize: number): number | undefined {
  return asked !== undefined && asked > 0 && asked < contextSize ? asked : undefined;
}

/** The fields that ask for something only together with another, which is at rest here: they have no effect. */
export function idleFields(body: JsonObject): readonly string[] {
  const { negativePrompt, scale } = guidanceOf({
    negative_prompt: readAt(body, 'negative_prompt', '', controlFields.negative_prompt.read),
    guidance_scale: readAt(body, 'guidance_scale', '', controlFields.guidance_scale.read),
  });
  if (scale === 1) return negativePrompt === '' ? [] : ['negative_prompt'];
  return negativePrompt === '' ? ['guidance_scale'] : [];
}

type Guidance = NonNullable<GenerationRequest['guidance']>;

function guidanceOf(controls: Pick<Controls, 'negative_prompt' | 'guidance_scale'>): Guidance {
  return { negativePrompt: controls.negative_prompt, scale: Math.max(0, controls.guidance_scale) };
}

/** Clients send both fields at rest always; only a scale and a text together ask for something. */
function decodeGuidance(controls: Controls, enabled: boolean): GenerationRequest['guidance'] {
  const { negativePrompt, scale } = guidanceOf(controls);
  if (negativePrompt === '') return undefined;
  if (scale !== 1 && !enabled) {
    throw new AppError('unsupported', {
      feature: 'negative_prompt',
      instead: 'start the server with --enableguidance',
    });
  }
  return { negativePrompt, scale };
}

function decodeEndTokens(controls: Controls): EndTokens {
  if (controls.bypass_eos) return 'ignore';
  return (controls.ban_eos_token ?? controls.use_default_badwordsids) ? 'ban' : 'stop';
}

function decodeReasoning(controls: Controls): ReasoningBudget | undefined {
  const share = effortShares.get(controls.reasoning_effort ?? '');
  if (share !== undefined) return { type: 'share', share };
  const tokens = controls.thinking_budget_tokens;
  return tokens >= 0 ? { type: 'tokens', tokens } : undefined;
}
