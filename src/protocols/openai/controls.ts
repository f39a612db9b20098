import type { Sampling } from '../../core/sampling-fields.ts';
import type { TextService } from '../../core/text-service.ts';
import type { JsonObject } from '../../http/body.ts';
import { limitTokens } from '../controls/decode.ts';
import { clamp } from '../fields.ts';
import type { ReadBody } from '../read-body.ts';
import { unsupportedField } from './errors.ts';
import { type Bias, type GenerationFields, maxBias } from './fields.ts';

/** Native controls without the fields whose names mean something else in this dialect. */
export function nativeBody(body: JsonObject): JsonObject {
  return { ...body, logit_bias: null, logprobs: null };
}

interface ReadControls extends Pick<ReadBody<object>, 'controls' | 'limits'> {
  readonly fields: GenerationFields;
}

/** The controls of the dialect over the native ones of the same body, without `logprobs`, which differ per endpoint. */
export async function decodeOwnControls(
  { fields, controls: native, limits }: ReadControls,
  { tokenize }: Pick<TextService, 'tokenize'>,
) {
  const requested = requestedTokens(fields);
  const logitBias = await tokenBiases(fields.logit_bias, tokenize);
  return {
    ...native,
    maxTokens: requested === undefined ? native.maxTokens : limitTokens(requested, limits),
    sampling: { ...native.sampling, ...ownSampling(fields) },
    // A ban by a native field wins.
    logitBias: [...new Map([...logitBias, ...native.logitBias])],
    stop: fields.stop ?? native.stop,
    trimStop: true,
    logprobs: undefined,
    ...(fields.return_progress && fields.stream && { reportsProgress: true }),
  };
}

/** How the reply is to be delivered. */
export function decodeDelivery(fields: GenerationFields) {
  return {
    stream: fields.stream,
    includeUsage: fields.stream_options.include_usage,
    timingsPerToken: fields.timings_per_token ?? false,
    reportsProgress: fields.return_progress ?? false,
    genkey: fields.genkey,
    kept: fields.kcpp_extra_args,
    ttl: fields.ttl,
  };
}

/** The length of the reply that the client set, if it set one. */
export function requestedTokens(fields: GenerationFields): number | undefined {
  return fields.max_completion_tokens ?? fields.max_tokens ?? fields.n_predict;
}

/** The number of alternatives for each token of the prompt, if they were requested. */
export function decodePromptLogprobs(fields: Pick<GenerationFields, 'prompt_logprobs' | 'stream'>) {
  if (fields.prompt_logprobs === undefined || !fields.stream) return fields.prompt_logprobs;
  throw unsupportedField('prompt_logprobs', 'a stream has no place for it; ask for a whole reply');
}

function ownSampling(fields: GenerationFields): Partial<Sampling> {
  const { temperature, top_p: topP, seed, presence_penalty: presence, frequency_penalty: frequency } = fields;
  return {
    ...(temperature !== undefined && { temperature: Math.max(0, temperature) }),
    ...(topP !== undefined && { topP: clamp(topP, 0, 1) }),
    ...(presence !== undefined && { presencePenalty: clamp(presence, -2, 2) }),
    ...(frequency !== undefined && { frequencyPenalty: clamp(frequency, -2, 2) }),
    ...(seed !== undefined && { seed: engineSeed(seed) }),
  };
}

const largestSeed = 2 ** 31 - 1;

/** Engines draw a random seed for 0 and less; in this dialect only -1 does, and every other number must reproduce. */
function engineSeed(seed: number): number {
  return seed === -1 ? -1 : Math.abs(seed % largestSeed) || largestSeed;
}

async function tokenBiases(biases: readonly Bias[], tokenize: TextService['tokenize']) {
  const biasOf = new Map<number, number>();
  for (const [key, bias] of biases.slice(0, 512)) {
    const tokens = typeof key === 'number' ? [key] : await tokenize(key, { addSpecial: false });
    for (const token of tokens) if (token >= 0) biasOf.set(token, clamp(bias, -maxBias, maxBias));
  }
  return [...biasOf];
}
