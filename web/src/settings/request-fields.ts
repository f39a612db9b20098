import { isObject, jsonIn, jsonProblem } from '../api/loose.ts';
import { texts } from './request-texts.ts';
import type { PromptValues, SamplerValues, TokenBias } from './values.ts';

/** The settings that go into requests. */
export type RequestValues = Omit<SamplerValues, 'replyLength'> & Pick<PromptValues, 'stopSequences'>;

/** Fields of a chat request. Throws if the JSON schema is no JSON. */
export function chatFields(values: RequestValues): Record<string, unknown> {
  const { sampler_seed: seed } = values.sampling;
  const schema = schemaOf(values);
  return {
    ...commonFields(values),
    ...(seed === undefined ? {} : { seed }),
    ...(schema === undefined
      ? {}
      : { response_format: { type: 'json_schema', json_schema: { name: 'reply', schema } } }),
    // As pairs, in which a text of digits is a text.
    ...(values.logitBias.length > 0
      ? { logit_bias: values.logitBias.map(({ token, bias }) => [targetOf(token), bias]) }
      : {}),
    ...(values.stopSequences.length > 0 ? { stop: values.stopSequences } : {}),
  };
}

/** Fields of a request of the native API, without the stop sequences, which stories add to their own. */
export async function nativeFields(
  values: RequestValues,
  tokenize: (text: string) => Promise<readonly number[]>,
): Promise<Record<string, unknown>> {
  const schema = schemaOf(values);
  return {
    ...commonFields(values),
    ...(schema === undefined ? {} : { grammar: schema }),
    ...(values.logitBias.length > 0 ? { logit_bias: await tokenBiases(values.logitBias, tokenize) } : {}),
  };
}

function commonFields({ sampling, samplerOrder, dryBreakers, grammar, bannedPhrases, endToken }: RequestValues) {
  const dry = (sampling.dry_multiplier ?? 0) > 0;
  return {
    ...sampling,
    ...(samplerOrder.length > 0 ? { sampler_order: samplerOrder } : {}),
    ...(dry && dryBreakers.length > 0 ? { dry_sequence_breakers: dryBreakers } : {}),
    ...(grammar.trim() === '' ? {} : { grammar }),
    ...(bannedPhrases.length > 0 ? { banned_tokens: bannedPhrases } : {}),
    ...(endToken === 'ban' ? { ban_eos_token: true } : {}),
    ...(endToken === 'ignore' ? { bypass_eos: true } : {}),
  };
}

/** A grammar takes precedence over a schema. */
function schemaOf({ grammar, jsonSchema }: RequestValues): object | undefined {
  if (grammar.trim() !== '' || jsonSchema.trim() === '') return undefined;
  const problem = schemaProblem(jsonSchema);
  if (problem !== undefined) throw new Error(texts.schema.failed(problem));
  return JSON.parse(jsonSchema) as object;
}

/** What is wrong with a schema, for people; undefined if it is empty or a JSON object. */
export function schemaProblem(text: string): string | undefined {
  const isUsable = text.trim() === '' || isObject(jsonIn(text));
  return jsonProblem(text) ?? (isUsable ? undefined : texts.schema.noObject);
}

/** `#12` is token 12; everything else is a text. */
export function targetOf(token: string): number | string {
  return /^#\d{1,9}$/.test(token) ? Number(token.slice(1)) : token;
}

/** Biases by the number of the token. A text sets all of its tokens. */
async function tokenBiases(
  biases: readonly TokenBias[],
  tokenize: (text: string) => Promise<readonly number[]>,
): Promise<Record<number, number>> {
  const pairs = await Promise.all(
    biases.map(async ({ token, bias }) => {
      const target = targetOf(token);
      const ids = typeof target === 'number' ? [target] : await tokenize(target);
      return ids.map((id): [number, number] => [id, bias]);
    }),
  );
  return Object.fromEntries(pairs.flat());
}

/** A text on one line; `\n`, `\t` and `\\` stand for a line break, a tab and a backslash. */
export function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('\t', '\\t');
}

export function unescaped(line: string): string {
  const characters: Readonly<Record<string, string>> = { n: '\n', t: '\t', '\\': '\\' };
  return line.replace(/\\(.)/g, (found, letter: string) => characters[letter] ?? found);
}

/** One text per line. */
export function linesOf(list: readonly string[]): string {
  return list.map(escaped).join('\n');
}

/** Empty lines are left out. */
export function listOf(lines: string): string[] {
  return lines
    .split('\n')
    .map((line) => unescaped(line.replace(/\r$/, '')))
    .filter((text) => text !== '');
}
