import type { JsonSchema } from '../../core/fidelity.ts';
import { tryParseJson } from '../../core/json.ts';
import type { AdapterScale } from '../../core/lora.ts';
import type { GenerationRequest, Grammar } from '../../core/request.ts';
import {
  cutToBytes,
  defaultSamplerOrder,
  type SamplerStage,
  type SamplingField,
  type SamplingName,
  samplerStages,
  samplingFields,
  samplingNames,
} from '../../core/sampling-fields.ts';
import * as f from '../fields.ts';
import { grammarOf, type SchemaToGrammar } from '../output-schema.ts';

/** GBNF, or a JSON schema as an object or as text. */
type SentGrammar = { readonly gbnf: string } | { readonly schema: unknown };

const readGrammarText: f.Read<SentGrammar> = f.described({ type: ['string', 'object'] }, (value, path) => {
  if (f.isObject(value)) return { schema: value };
  const text = f.readText(value, path);
  // No GBNF text is valid JSON.
  const schema = tryParseJson(text);
  return schema === undefined ? { gbnf: text } : { schema };
});

const limits = { stop: 256, phrases: 768, breakers: 128, breakerBytes: 40, biases: 512, bans: 10_000, bias: 100 };

/** One stop text or a list. Unlike in other lists, a text that looks like a JSON array is one stop text. */
export const readStop: f.Read<readonly string[]> = f.described(f.oneOrMoreTexts, (value, path) =>
  stopList(typeof value === 'string' ? [value] : value, path),
);
const stopList = f.looseTexts(limits.stop);

/** A text, or a number, which counts as its digits. */
export const readGenkey: f.Read<string> = f.described(
  f.textOrNumber,
  f.orElse((value, path) => (typeof value === 'number' ? String(value) : f.readText(value, path)), ''),
);

/** Other servers have many levels; a value that is not a string is ignored. */
export const readEffort: f.Read<string | undefined> = f.described(f.textSchema, (value) =>
  typeof value === 'string' ? value : undefined,
);

const readBreakers = f.looseTexts(limits.breakers);
const readBanned = f.looseTexts(limits.phrases);

/** What an adapter may set: defaults that the request can override. */
const readAdapter = f.objectOf({
  temperature: f.optional(f.looseNumber),
  top_k: f.optional(f.looseWhole),
  top_p: f.optional(f.looseNumber),
  min_p: f.optional(f.looseNumber),
  max_length: f.optional(f.looseWhole),
});

type Bias = readonly [token: number, bias: number];

/** Of several entries for a token the last one counts: a ban of `custom_token_bans` over a bias. */
export function joinBiases(...lists: readonly (readonly Bias[])[]): GenerationRequest['logitBias'] {
  return [...new Map(lists.flat())];
}

const readBiases: f.Read<readonly Bias[]> = f.described(
  { type: 'object', additionalProperties: { type: 'number' } },
  (value, path) => {
    const refusal = () => f.wrong(path, 'an object from token numbers to numbers');
    if (!f.isObject(value)) throw refusal();
    const entries = Object.entries(value).slice(0, limits.biases);
    return entries.flatMap(([key, entry]): readonly Bias[] => {
      const token = tokenId(key);
      const bias = f.looseNumber(entry, path);
      if (token === undefined || Number.isNaN(bias)) throw refusal();
      return token >= 0 ? [[token, f.clamp(bias, -limits.bias, limits.bias)]] : [];
    });
  },
);

const readBans: f.Read<readonly Bias[]> = f.described(f.textSchema, (value, path) => {
  const entries = f.readText(value, path).split(',', limits.bans + 1);
  if (entries.length > limits.bans) throw f.wrong(path, `at most ${limits.bans} token numbers`);
  return entries.flatMap((entry): readonly Bias[] => {
    if (entry.trim() === '') return [];
    const token = tokenId(entry);
    if (token === undefined) throw f.wrong(path, 'token numbers with commas between');
    return token >= 0 ? [[token, -limits.bias]] : [];
  });
});

function tokenId(text: string): number | undefined {
  return /^\s*[+-]?\d{1,9}\s*$/.test(text) ? Number(text) : undefined;
}

/** Stages by number. A list of the wrong length means the default order; unknown stage numbers are left out. */
const readOrder: f.Read<readonly SamplerStage[]> = f.described(
  {
    type: 'array',
    items: { type: 'integer', minimum: 0, maximum: samplerStages.length - 1 },
    maxItems: samplerStages.length,
  },
  (value, path) => {
    if (!Array.isArray(value)) throw f.wrong(path, 'an array of sampler numbers');
    if (value.length === 0 || value.length > samplerStages.length) return defaultSamplerOrder;
    return value.flatMap((stage) => samplerStages[f.looseWhole(stage, path)] ?? []);
  },
);

/** LoRA adapters by `id`, as llama-server has them, or by `name`. */
export const readAdapterScales: f.Read<readonly AdapterScale[]> = f.described(
  {
    type: 'array',
    items: {
      type: 'object',
      properties: { id: { type: 'integer', minimum: 0 }, name: f.textSchema, scale: { type: 'number' } },
      required: ['scale'],
    },
  },
  (value, path) => {
    if (!Array.isArray(value)) throw f.wrong(path, 'a list of objects with id or name, and scale');
    return value.map((entry, index) => {
      const own = `${path}[${index}]`;
      if (!f.isObject(entry)) throw f.wrong(own, 'an object with id or name, and scale');
      const { id, name } = entry;
      const scale = f.readNumber(entry.scale, `${own}.scale`);
      if (typeof name === 'string') return { adapter: name, scale };
      if (!Number.isInteger(id)) throw f.wrong(own, 'an object with the id (a whole number) or the name of an adapter');
      return { adapter: id as number, scale };
    });
  },
);

type SamplerField = (typeof samplingFields)[SamplingName]['wire'][number];
const unsigned = f.looseWholeWithin(-1, 2 ** 32 - 1);

/** Every name of every sampler, from the table of them. */
const samplerFields = Object.fromEntries(
  samplingNames.flatMap((name) => {
    const field: SamplingField = samplingFields[name];
    const { wire, type, note, highestWins } = field;
    const read = name === 'seed' ? unsigned : type === 'integer' ? f.looseWhole : f.looseNumber;
    const row = f.optional(f.described(samplerSchema(field), read));
    const aliasNote = highestWins ? note : `another name of ${wire[0]}`;
    return wire.map((alias, index) => [alias, f.honoured(row, index === 0 ? note : aliasNote)]);
  }),
) as { readonly [Field in SamplerField]: f.ReadRow<number | undefined> };

/** Values outside of the range are moved into it, so the schema must not forbid them. */
function samplerSchema({ type, default: fallback, min, max, off, text }: SamplingField): JsonSchema {
  const range = min === undefined && max === undefined ? '' : `Moved into ${min ?? 'any'} to ${max ?? 'any'}.`;
  const description = [text, off === undefined ? '' : `Off: ${off}.`, range].filter(Boolean).join(' ');
  return { type, default: fallback, description };
}

const together =
  'a text and a scale other than 1 together, which are refused unless started with --enableguidance; one alone has no effect and is named in x-parley-ignored';

/** The controls of the native API, which requests of every dialect may carry beside their own fields. */
export const controlFields = {
  max_context_length: f.honoured(f.optional(f.looseWhole), 'more than the server has counts as what it has'),
  max_length: f.honoured(
    f.optional(f.looseWhole),
    'at most 65 % of the context, 80 % after a short prompt; 0 and less write nothing',
  ),
  stop_sequence: f.honoured(
    f.orElse(readStop, []),
    'one text or a list; the first 256 count, with 50,000 characters together',
  ),
  trim_stop: f.honoured(f.orElse(f.looseFlag, true)),
  render_special: f.honoured(f.orElse(f.looseFlag, false)),
  bypass_eos: f.honoured(f.orElse(f.looseFlag, false)),
  ban_eos_token: f.honoured(f.optional(f.looseFlag)),
  use_default_badwordsids: f.honoured(f.orElse(f.looseFlag, false), 'another name of ban_eos_token, which wins'),
  ignore_eos: f.honoured(f.orElse(f.looseFlag, false), 'as llama-server and vLLM call ban_eos_token, which wins'),
  logprobs: f.honoured(f.orElse(f.looseFlag, false), 'ten alternatives; streams leave them for last_logprobs'),
  adapter: f.honoured(readAdapter, 'defaults of temperature, top_k, top_p and min_p; in chats of max_length too'),
  reasoning_effort: f.honoured(readEffort, 'where the vocabulary has tags for thinking'),
  thinking_budget_tokens: f.honoured(f.orElse(f.looseWhole, -1), 'where reasoning_effort sets no budget'),
  ...samplerFields,
  sampler_order: f.honoured(f.optional(readOrder), 'one to seven numbers; otherwise the default order'),
  dry_sequence_breakers: f.honoured(
    f.orElse(
      f.described(f.textsSchema, (value, path) =>
        readBreakers(value, path).map((text) => cutToBytes(text, limits.breakerBytes)),
      ),
      [],
    ),
    'the first 128; each up to 40 bytes',
  ),
  logit_bias: f.honoured(f.orElse(readBiases, []), 'an object; the first 512; from -100 to 100'),
  custom_token_bans: f.honoured(f.orElse(readBans, [])),
  banned_tokens: f.honoured(f.optional(readBanned), 'texts; the first 768, with 50,000 characters together'),
  banned_strings: f.honoured(f.orElse(readBanned, []), 'another name of banned_tokens, which wins'),
  grammar: f.honoured(
    f.optional(readGrammarText),
    'GBNF or a JSON schema; one that is wrong is refused, with its line and column',
  ),
  grammar_retain_state: f.honoured(f.orElse(f.looseFlag, false)),
  negative_prompt: f.honoured(f.orElse(f.readText, ''), together),
  guidance_scale: f.honoured(f.orElse(f.looseNumber, 1), together),
  lora: f.honoured(
    f.optional(readAdapterScales),
    'LoRA adapters of the model by id or name, with scales; those that are not named do not apply',
  ),
  cache_prompt: f.honoured(f.orElse(f.looseFlag, true), 'with false the whole prompt is computed again'),
};

/** `model` of the dialects in which any name is answered. */
export const loadedModel = f.withSchema(
  f.textSchema,
  f.aside('approximated', 'Any name: the loaded model answers, and the reply has its name.'),
);

export type Controls = f.Fields<typeof controlFields>;

/** Rows for controls that a dialect has under their native names, which `readControls` reads. `check`: its stricter types. */
export function asControls(
  rows: Readonly<Partial<Record<keyof Controls, string>>>,
  { handling = 'honoured', check }: Partial<Pick<f.FieldNote, 'handling'>> & { readonly check?: f.Read<unknown> } = {},
): Readonly<Record<never, never>> {
  return Object.fromEntries(
    Object.entries(rows).map(([name, note]) => {
      const { schema = {} } = controlFields[name as keyof Controls].read;
      return [name, { handling, schema, ...(note && { note }), ...(check && { check }) }];
    }),
  );
}

export function decodeGrammar(
  { grammar, grammar_retain_state: retainState }: Controls,
  schemaToGrammar: SchemaToGrammar,
): Grammar | undefined {
  if (grammar === undefined) return undefined;
  const gbnf = 'schema' in grammar ? grammarOf(grammar.schema, 'grammar', schemaToGrammar) : grammar.gbnf;
  return gbnf.trim() === '' ? undefined : { gbnf, retainState };
}
