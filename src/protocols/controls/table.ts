import type { JsonSchema } from '../../core/fidelity.ts';
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
import { looseFlag, looseNumber, looseTexts, looseWhole, looseWholeWithin } from '../fields/loose.ts';
import {
  clamp,
  described,
  isObject,
  objectOf,
  optional,
  orElse,
  type Read,
  readText,
  wrong,
} from '../fields/readers.ts';
import { oneOrMoreTexts, textOrNumber, textSchema, textsSchema } from '../fields/schemas.ts';
import { aside, type Fields, honoured, type ReadRow, type Said, withSchema } from '../fields/table.ts';
import { grammarOf, type SchemaToGrammar } from '../output-schema.ts';

/** GBNF, or a JSON schema as an object or as text. */
type SentGrammar = { readonly gbnf: string } | { readonly schema: unknown };

const readGrammarText: Read<SentGrammar> = described({ type: ['string', 'object'] }, (value, path) => {
  if (isObject(value)) return { schema: value };
  const text = readText(value, path);
  try {
    // No GBNF text is valid JSON.
    return { schema: JSON.parse(text) };
  } catch {
    return { gbnf: text };
  }
});

const limits = { stop: 256, phrases: 768, breakers: 128, breakerBytes: 40, biases: 512, bans: 10_000, bias: 100 };

/** One stop text or a list. Unlike in other lists, a text that looks like a JSON array is one stop text. */
export const readStop: Read<readonly string[]> = described(oneOrMoreTexts, (value, path) =>
  stopList(typeof value === 'string' ? [value] : value, path),
);
const stopList = looseTexts(limits.stop);

/** A text, or a number, which counts as its digits. */
export const readGenkey: Read<string> = described(
  textOrNumber,
  orElse((value, path) => (typeof value === 'number' ? String(value) : readText(value, path)), ''),
);

/** Other servers have many levels; a value that is no text is ignored. */
export const readEffort: Read<string | undefined> = described(textSchema, (value) =>
  typeof value === 'string' ? value : undefined,
);

const readBreakers = looseTexts(limits.breakers);
const readBanned = looseTexts(limits.phrases);

/** What an adapter may set: defaults that the request can override. */
const readAdapter = objectOf({
  temperature: optional(looseNumber),
  top_k: optional(looseWhole),
  top_p: optional(looseNumber),
  min_p: optional(looseNumber),
  max_length: optional(looseWhole),
});

type Bias = readonly [token: number, bias: number];

/** Of several entries for a token the last one counts: a ban of `custom_token_bans` over a bias. */
export function joinBiases(...lists: readonly (readonly Bias[])[]): GenerationRequest['logitBias'] {
  return [...new Map(lists.flat())];
}

const readBiases: Read<readonly Bias[]> = described(
  { type: 'object', additionalProperties: { type: 'number' } },
  (value, path) => {
    const refusal = () => wrong(path, 'an object from token numbers to numbers');
    if (!isObject(value)) throw refusal();
    const entries = Object.entries(value).slice(0, limits.biases);
    return entries.flatMap(([key, entry]): readonly Bias[] => {
      const token = tokenId(key);
      const bias = looseNumber(entry, path);
      if (token === undefined || Number.isNaN(bias)) throw refusal();
      return token >= 0 ? [[token, clamp(bias, -limits.bias, limits.bias)]] : [];
    });
  },
);

const readBans: Read<readonly Bias[]> = described(textSchema, (value, path) => {
  const entries = readText(value, path).split(',', limits.bans + 1);
  if (entries.length > limits.bans) throw wrong(path, `at most ${limits.bans} token numbers`);
  return entries.flatMap((entry): readonly Bias[] => {
    if (entry.trim() === '') return [];
    const token = tokenId(entry);
    if (token === undefined) throw wrong(path, 'token numbers with commas between');
    return token >= 0 ? [[token, -limits.bias]] : [];
  });
});

function tokenId(text: string): number | undefined {
  return /^\s*[+-]?\d{1,9}\s*$/.test(text) ? Number(text) : undefined;
}

/** Stages by number. A list of the wrong length means the default order; numbers that are no stage are left out. */
const readOrder: Read<readonly SamplerStage[]> = described(
  {
    type: 'array',
    items: { type: 'integer', minimum: 0, maximum: samplerStages.length - 1 },
    maxItems: samplerStages.length,
  },
  (value, path) => {
    if (!Array.isArray(value)) throw wrong(path, 'an array of sampler numbers');
    if (value.length === 0 || value.length > samplerStages.length) return defaultSamplerOrder;
    return value.flatMap((stage) => samplerStages[looseWhole(stage, path)] ?? []);
  },
);

type SamplerField = (typeof samplingFields)[SamplingName]['wire'][number];
const unsigned = looseWholeWithin(-1, 2 ** 32 - 1);

/** Every name of every sampler, from the table of them. */
const samplerFields = Object.fromEntries(
  samplingNames.flatMap((name) => {
    const field: SamplingField = samplingFields[name];
    const { wire, type, note, highestWins } = field;
    const read = name === 'seed' ? unsigned : type === 'integer' ? looseWhole : looseNumber;
    const row = optional(described(samplerSchema(field), read));
    const aliasNote = highestWins ? note : `another name of ${wire[0]}`;
    return wire.map((alias, index) => [alias, honoured(row, index === 0 ? note : aliasNote)]);
  }),
) as { readonly [Field in SamplerField]: ReadRow<number | undefined> };

/** Values outside of the range are moved into it, so the schema must not forbid them. */
function samplerSchema({ type, default: usual, min, max, off, text }: SamplingField): JsonSchema {
  const range = min === undefined && max === undefined ? '' : `Moved into ${min ?? 'any'} to ${max ?? 'any'}.`;
  const description = [text, off === undefined ? '' : `Off: ${off}.`, range].filter(Boolean).join(' ');
  return { type, default: usual, description };
}

const together =
  'a text and a scale other than 1 together, which are refused unless started with --enableguidance; one alone has no effect and is named in x-parley-ignored';

/** The controls of the native API, which requests of every dialect may carry beside their own fields. */
export const controlFields = {
  max_context_length: honoured(optional(looseWhole), 'more than the server has counts as what it has'),
  max_length: honoured(
    optional(looseWhole),
    'at most 65 % of the context, 80 % after a short prompt; 0 and less write nothing',
  ),
  stop_sequence: honoured(
    orElse(readStop, []),
    'one text or a list; the first 256 count, with 50,000 characters together',
  ),
  trim_stop: honoured(orElse(looseFlag, true)),
  render_special: honoured(orElse(looseFlag, false)),
  bypass_eos: honoured(orElse(looseFlag, false)),
  ban_eos_token: honoured(optional(looseFlag)),
  use_default_badwordsids: honoured(orElse(looseFlag, false), 'another name of ban_eos_token, which wins'),
  logprobs: honoured(orElse(looseFlag, false), 'ten alternatives; streams leave them for last_logprobs'),
  adapter: honoured(readAdapter, 'defaults of temperature, top_k, top_p and min_p; in chats of max_length too'),
  reasoning_effort: honoured(readEffort, 'where the vocabulary has tags for thinking'),
  thinking_budget_tokens: honoured(orElse(looseWhole, -1), 'where reasoning_effort sets no budget'),
  ...samplerFields,
  sampler_order: honoured(optional(readOrder), 'one to seven numbers; otherwise the default order'),
  dry_sequence_breakers: honoured(
    orElse(
      described(textsSchema, (value, path) =>
        readBreakers(value, path).map((text) => cutToBytes(text, limits.breakerBytes)),
      ),
      [],
    ),
    'the first 128; each up to 40 bytes',
  ),
  logit_bias: honoured(orElse(readBiases, []), 'an object; the first 512; from -100 to 100'),
  custom_token_bans: honoured(orElse(readBans, [])),
  banned_tokens: honoured(optional(readBanned), 'texts; the first 768, with 50,000 characters together'),
  banned_strings: honoured(orElse(readBanned, []), 'another name of banned_tokens, which wins'),
  grammar: honoured(
    optional(readGrammarText),
    'GBNF or a JSON schema; one that is wrong is refused, with its line and column',
  ),
  grammar_retain_state: honoured(orElse(looseFlag, false)),
  negative_prompt: honoured(orElse(readText, ''), together),
  guidance_scale: honoured(orElse(looseNumber, 1), together),
  cache_prompt: honoured(orElse(looseFlag, true), 'with false the whole prompt is computed again'),
};

/** `model` of the dialects in which any name is answered. */
export const loadedModel = withSchema(
  textSchema,
  aside('approximated', 'Any name: the loaded model answers, and the reply has its name.'),
);

export type Controls = Fields<typeof controlFields>;

/** Rows for controls that a dialect has under their native names, which `readControls` reads. `check`: its stricter types. */
export function asControls(
  rows: Readonly<Partial<Record<keyof Controls, string>>>,
  { handling = 'honoured', check }: Partial<Pick<Said, 'handling'>> & { readonly check?: Read<unknown> } = {},
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
