import { AppError } from '../../core/errors.ts';
import type { EndTokens, GenerationRequest, Grammar, ReasoningBudget } from '../../core/request.ts';
import type { JsonObject } from '../../http/body.ts';
import { decodeBias } from './bias.ts';
import { isAbsent, isObject, readFlag, readInteger, readNumber, readText, readTexts } from './fields.ts';
import { type AdapterDefaults, decodeSampling } from './sampling.ts';

export interface PromptTexts {
  readonly prompt: string;
  readonly memory: string;
  readonly stop: readonly string[];
}

/** What the server adds to a request of its own. */
export interface DecodeParts {
  readonly defaultMaxTokens: number;
  /** Hard cap of the reply; 0 means none. */
  readonly maxTokensLimit: number;
  readonly contextSize: number;
  /** Whether a second, negative prompt may steer the text. */
  readonly guidance: boolean;
  readonly adapter: AdapterDefaults;
  readonly replacePlaceholders: (texts: PromptTexts) => PromptTexts;
  /** Throws when the schema cannot be expressed. */
  readonly schemaToGrammar: (schema: unknown) => string;
}

const limits = { stop: 256, bans: 768, alternatives: 10 };

const effortShares = new Map([
  ['none', 0],
  ['minimal', 0.1],
  ['low', 0.25],
  ['medium', 0.5],
  ['high', 0.75],
]);

export function decode(body: JsonObject, parts: DecodeParts): GenerationRequest {
  refuseMedia(body, 'images', 'Image input', 'no vision projector is loaded');
  refuseMedia(body, 'audio', 'Audio input', 'no audio projector is loaded');
  return {
    ...decodeTexts(body, parts.replacePlaceholders),
    maxTokens: decodeMaxTokens(body, parts),
    maxContext: decodeMaxContext(body, parts.contextSize),
    overflow: 'trim',
    sampling: decodeSampling(body, requestAdapter(body), parts.adapter),
    logitBias: decodeBias(body),
    bannedTokens: [],
    bannedStrings: readTexts(body, isAbsent(body.banned_tokens) ? 'banned_strings' : 'banned_tokens', limits.bans),
    grammar: decodeGrammar(body, parts.schemaToGrammar),
    guidance: decodeGuidance(body, parts.guidance),
    trimStop: readFlag(body, 'trim_stop', true),
    endTokens: decodeEndTokens(body),
    renderSpecial: readFlag(body, 'render_special', false),
    logprobs: readFlag(body, 'logprobs', false) ? limits.alternatives : undefined,
    reasoning: decodeReasoning(body),
  };
}

/** A number is as good a key as its digits; anything else would be a key that nobody can name again. */
export function decodeGenkey(body: JsonObject): string {
  return typeof body.genkey === 'number' ? String(body.genkey) : readText(body, 'genkey');
}

function decodeTexts(body: JsonObject, replacePlaceholders: DecodeParts['replacePlaceholders']): PromptTexts {
  const prompt = readText(body, 'prompt');
  const memory = readText(body, 'memory');
  // A stop text is taken as it is even when it looks like a JSON array, unlike the other lists.
  const single = typeof body.stop_sequence === 'string' ? [body.stop_sequence] : body.stop_sequence;
  const stop = readTexts({ stop_sequence: single }, 'stop_sequence', limits.stop);
  if (!readFlag(body, 'replace_instruct_placeholders', true)) return { prompt, memory, stop };
  const replaced = replacePlaceholders({ prompt, memory, stop });
  return { ...replaced, stop: replaced.stop.filter((text) => text !== '') };
}

function decodeMaxTokens(body: JsonObject, parts: DecodeParts): number {
  const half = Math.max(1, Math.floor(parts.contextSize / 2));
  const fallback = Math.min(parts.defaultMaxTokens, half);
  const asked = readInteger(body.max_length, fallback);
  const wanted = asked > 0 ? asked : fallback;
  return parts.maxTokensLimit > 0 ? Math.min(wanted, parts.maxTokensLimit) : wanted;
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

function decodeGrammar(body: JsonObject, schemaToGrammar: DecodeParts['schemaToGrammar']): Grammar | undefined {
  const schema = isObject(body.grammar) ? body.grammar : schemaInText(readText(body, 'grammar'));
  const gbnf = schema === undefined ? readText(body, 'grammar') : convert(schema, schemaToGrammar);
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

function convert(schema: unknown, schemaToGrammar: DecodeParts['schemaToGrammar']): string {
  try {
    return schemaToGrammar(schema);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    const expected = `GBNF or a JSON schema that can be turned into it (${reason})`;
    throw new AppError('invalid-field', { field: 'grammar', expected }, { cause: error });
  }
}

/** Clients send both fields at rest always; only a scale and a text together ask for something. */
function decodeGuidance(body: JsonObject, enabled: boolean): GenerationRequest['guidance'] {
  const negativePrompt = readText(body, 'negative_prompt');
  const scale = Math.max(0, readNumber(body.guidance_scale, 1));
  if (scale === 1 || negativePrompt === '') return undefined;
  if (!enabled) {
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

function refuseMedia(body: JsonObject, field: string, feature: string, instead: string): void {
  if (readTexts(body, field, Number.POSITIVE_INFINITY).length > 0)
    throw new AppError('unsupported', { feature, instead });
}
