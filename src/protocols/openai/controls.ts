import type { GenerationControls } from '../../core/request.ts';
import type { Sampling } from '../../core/sampling-fields.ts';
import type { JsonObject } from '../../http/body.ts';
import { decodeStop, limitTokens } from '../controls/decode.ts';
import { clamp, isAbsent } from '../controls/fields.ts';
import { type DialectParts, dialectControls } from '../dialect.ts';
import { decodeLogitBias } from './bias.ts';
import { optionalInteger, optionalNumber, wrong } from './fields.ts';

/** What chat and completions have in common: how the text is generated. Logprobs mean something else in each. */
export async function decodeOwnControls(body: JsonObject, parts: DialectParts): Promise<GenerationControls> {
  const own = ownSampling(body);
  const asked = askedTokens(body);
  const logitBias = await decodeLogitBias(body.logit_bias, parts.text.tokenize);
  const native = dialectControls(nativeBody(body), parts);
  return {
    ...native,
    maxTokens: asked === undefined ? native.maxTokens : limitTokens(asked, parts.controlParts()),
    sampling: { ...native.sampling, ...own },
    // What was forbidden by a native field stays forbidden.
    logitBias: [...new Map([...logitBias, ...native.logitBias])],
    stop: isAbsent(body.stop) ? native.stop : decodeStop(body, 'stop'),
    trimStop: true,
    logprobs: undefined,
  };
}

/** Fields that both dialects have, but with another meaning here, must not be read as the native ones. */
function nativeBody(body: JsonObject): JsonObject {
  const { logit_bias: _, logprobs: __, ...rest } = body;
  return rest;
}

/** How long a reply the client wants; undefined where it leaves that to the server. */
export function askedTokens(body: JsonObject): number | undefined {
  const names = ['max_completion_tokens', 'max_tokens', 'n_predict'];
  return names.map((name) => optionalInteger(body, name)).find((value) => value !== undefined);
}

function ownSampling(body: JsonObject): Partial<Sampling> {
  const temperature = optionalNumber(body, 'temperature');
  const topP = optionalNumber(body, 'top_p');
  const presence = optionalNumber(body, 'presence_penalty');
  const frequency = optionalNumber(body, 'frequency_penalty');
  const seed = optionalInteger(body, 'seed');
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

export function decodeCount(body: JsonObject, field: string): number {
  const count = optionalInteger(body, field) ?? 1;
  if (count < 1 || count > 128) throw wrong(field, 'a whole number from 1 to 128');
  return count;
}
