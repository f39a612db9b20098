import type { GenerationControls } from '../../core/request.ts';
import type { Sampling } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import { type DialectParts, dialectControls } from '../dialect.ts';
import { clamp } from '../fields/readers.ts';
import { tokenBiases } from './bias.ts';
import type { GenerationFields } from './fields.ts';

/** How the text is generated, with the native controls of the body beneath. Logprobs mean something else in each. */
export async function decodeOwnControls(
  fields: GenerationFields,
  body: JsonObject,
  parts: DialectParts,
): Promise<GenerationControls> {
  const asked = askedTokens(fields);
  const logitBias = await tokenBiases(fields.logit_bias, parts.text.tokenize);
  // Both dialects have these, but with another meaning here: they must not be read as the native ones.
  const native = dialectControls(readControls({ ...body, logit_bias: null, logprobs: null }), parts);
  return {
    ...native,
    maxTokens: asked === undefined ? native.maxTokens : limitTokens(asked, parts.controlParts()),
    sampling: { ...native.sampling, ...ownSampling(fields) },
    // What was forbidden by a native field stays forbidden.
    logitBias: [...new Map([...logitBias, ...native.logitBias])],
    stop: fields.stop ?? native.stop,
    trimStop: true,
    logprobs: undefined,
  };
}

/** How long a reply the client wants; undefined where it leaves that to the server. */
export function askedTokens(fields: GenerationFields): number | undefined {
  return fields.max_completion_tokens ?? fields.max_tokens ?? fields.n_predict;
}

function ownSampling({ temperature, top_p: topP, seed, ...fields }: GenerationFields): Partial<Sampling> {
  const { presence_penalty: presence, frequency_penalty: frequency } = fields;
  return {
    ...(temperature === undefined ? {} : { temperature: Math.max(0, temperature) }),
    ...(topP === undefined ? {} : { topP: clamp(topP, 0, 1) }),
    ...(presence === undefined ? {} : { presencePenalty: clamp(presence, -2, 2) }),
    ...(frequency === undefined ? {} : { frequencyPenalty: clamp(frequency, -2, 2) }),
    ...(seed === undefined ? {} : { seed: engineSeed(seed) }),
  };
}

const largestSeed = 2 ** 31 - 1;

/** Engines draw a fresh seed for 0 and less; here only -1 asks for that, and every other number must reproduce. */
function engineSeed(seed: number): number {
  if (seed === -1) return -1;
  return Math.abs(seed % largestSeed) || largestSeed;
}
