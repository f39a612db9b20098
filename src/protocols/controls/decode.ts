import { AppError } from '../../core/errors.ts';
import type { EndTokens, GenerationControls, GenerationRequest, Grammar, ReasoningBudget } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { grammarOf } from '../output-schema.ts';
import { decodeBias } from './bias.ts';
import { isAbsent, isObject, readFlag, readInteger, readNumber, readText, readTexts } from './fields.ts';
import { type AdapterDefaults, decodeSampling } from './sampling.ts';

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

const limits = { stop: 256, bans: 768, alternatives: 10 };

/** How much of the reply each level of effort may spend on thinking; levels above these have no limit. */
export const effortShares: ReadonlyMap<string, number> = new Map([
  ['none', 0],
  ['minimal', 0.1],
  ['low', 0.25],
  ['medium', 0.5],
  ['high', 0.75],
]);

/**
 * The controls of the native API. Requests of every family may carry them beside their own fields (writers' clients in
 * chat mode do); where a family has its own field for the same thing, it puts that over what this returns.
 */
export function decodeControls(body: JsonObject, parts: ControlParts): GenerationControls {
  return {
    media: [],
    maxTokens: limitTokens(readInteger(body.max_length, 0), parts),
    maxContext: decodeMaxContext(body, parts.contextSize),
    overflow: 'trim',
    sampling: decodeSampling(body, requestAdapter(body), parts.adapter),
    logitBias: decodeBias(body),
    bannedTokens: [],
    bannedStrings: readTexts(body, isAbsent(body.banned_tokens) ? 'banned_strings' : 'banned_tokens', limits.bans),
    grammar: decodeGrammar(body, parts.schemaToGrammar),
    ...(readFlag(body, 'grammar_retain_state', false) ? { retainsGrammar: true } : {}),
    guidance: decodeGuidance(body, parts.guidance),
    stop: decodeStop(body, 'stop_sequence'),
    trimStop: readFlag(body, 'trim_stop', true),
    endTokens: decodeEndTokens(body),
    renderSpecial: readFlag(body, 'render_special', false),
    logprobs: readFlag(body, 'logprobs', false) ? limits.alternatives : undefined,
    reasoning: decodeReasoning(body),
    ...(readFlag(body, 'cache_prompt', true) ? {} : { freshPrompt: true }),
  };
}

/** A number is as good a key as its digits; anything else would be a key that nobody can name again. */
export function decodeGenkey(body: JsonObject): string {
  return typeof body.genkey === 'number' ? String(body.genkey) : readText(body, 'genkey');
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
export function withAdapterLength(body: JsonObject, parts: ControlParts): ControlParts {
  const length = readInteger(requestAdapter(body).max_length, parts.adapter.maxTokens ?? 0);
  return length > 0 ? { ...parts, defaultMaxTokens: Math.trunc(length) } : parts;
}

/** One stop text or a list; a text is taken as it is even when it looks like a JSON array, unlike the other lists. */
export function decodeStop(body: JsonObject, field: string): readonly string[] {
  const value = body[field];
  return readTexts({ [field]: typeof value === 'string' ? [value] : value }, field, limits.stop);
}

function decodeMaxContext(body: JsonObject, contextSize: number): number | undefined {
  const asked = readInteger(body.max_context_length, contextSize);
  return asked > 0 && asked < contextSize ? asked : undefined;
}

function requestAdapter(body: JsonObject): JsonObject {
  if (isAbsent(body.adapter)) return {};
  if (!isObject(body.adapter)) throw new AppError('invalid-field', { field: 'adapter', expected: 'an object' });
  return body.adapter;
}

function decodeGrammar(body: JsonObject, schemaToGrammar: ControlParts['schemaToGrammar']): Grammar | undefined {
  const schema = isObject(body.grammar) ? body.grammar : schemaInText(readText(body, 'grammar'));
  const gbnf = schema === undefined ? readText(body, 'grammar') : grammarOf(schema, 'grammar', schemaToGrammar);
  if (gbnf.trim() === '') return undefined;
  return { gbnf, retainState: readFlag(body, 'grammar_retain_state', false) };
}

/** No GBNF text is valid JSON, so whatever parses was meant as a schema. */
function schemaInText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The fields that ask for something only together with another, which is at rest here: they have no effect. */
export function idleFields(body: JsonObject): readonly string[] {
  const { negativePrompt, scale } = readGuidance(body);
  if (scale === 1) return negativePrompt === '' ? [] : ['negative_prompt'];
  return negativePrompt === '' ? ['guidance_scale'] : [];
}

function readGuidance(body: JsonObject): NonNullable<GenerationRequest['guidance']> {
  const negativePrompt = readText(body, 'negative_prompt');
  return { negativePrompt, scale: Math.max(0, readNumber(body.guidance_scale, 1)) };
}

/** Clients send both fields at rest always; only a scale and a text together ask for something. */
function decodeGuidance(body: JsonObject, enabled: boolean): GenerationRequest['guidance'] {
  const { negativePrompt, scale } = readGuidance(body);
  if (negativePrompt === '') return undefined;
  if (scale !== 1 && !enabled) {
    throw new AppError('unsupported', {
      feature: 'negative_prompt',
      instead: 'start the server with --enableguidance',
    });
  }
  return { negativePrompt, scale };
}

function decodeEndTokens(body: JsonObject): EndTokens {
  if (readFlag(body, 'bypass_eos', false)) return 'ignore';
  const field = isAbsent(body.ban_eos_token) ? 'use_default_badwordsids' : 'ban_eos_token';
  return readFlag(body, field, false) ? 'ban' : 'stop';
}

function decodeReasoning(body: JsonObject): ReasoningBudget | undefined {
  const share = typeof body.reasoning_effort === 'string' ? effortShares.get(body.reasoning_effort) : undefined;
  if (share !== undefined) return { type: 'share', share };
  const tokens = readInteger(body.thinking_budget_tokens, -1);
  return tokens >= 0 ? { type: 'tokens', tokens } : undefined;
}
