import type { JsonSchema } from '../../core/fidelity.ts';
import type { Grammar } from '../../core/request.ts';
import { type SamplingField, type SamplingName, samplingFields, samplingNames } from '../../core/sampling-fields.ts';
import { looseFlag, looseNumber, looseTexts, looseWhole, looseWholeWithin } from '../fields/loose.ts';
import { described, isObject, objectOf, optional, orElse, type Read, readText } from '../fields/readers.ts';
import { oneOrMoreTexts, textOrNumber, textSchema, textsSchema } from '../fields/schemas.ts';
import { type Fields, honoured, type ReadRow, type Said } from '../fields/table.ts';
import { grammarOf, type SchemaToGrammar } from '../output-schema.ts';
import { readBans, readBiases } from './bias.ts';
import { readOrder } from './order.ts';

const readGrammarText: Read<SentGrammar> = described({ type: ['string', 'object'] }, (value, path) => {
  if (isObject(value)) return { schema: value };
  const text = readText(value, path);
  const schema = schemaInText(text);
  return schema === undefined ? { gbnf: text } : { schema };
});

const limits = { stop: 256, bans: 768, breakers: 128, breakerBytes: 40 };

/** One stop text or a list; a text is taken as it is even when it looks like a JSON array, unlike the other lists. */
export const readStop: Read<readonly string[]> = described(oneOrMoreTexts, (value, path) =>
  stopList(typeof value === 'string' ? [value] : value, path),
);
const stopList = looseTexts(limits.stop);

/** A number is as good a key as its digits; anything else would be a key that nobody can name again. */
export const readGenkey: Read<string> = described(
  textOrNumber,
  orElse((value, path) => (typeof value === 'number' ? String(value) : readText(value, path)), ''),
);

/** Levels of other servers are many; what is no text is none of them. */
export const readEffort: Read<string | undefined> = described(textSchema, (value) =>
  typeof value === 'string' ? value : undefined,
);

const readBreakers = looseTexts(limits.breakers);
const readBanned = looseTexts(limits.bans);

/** What an adapter may set; the samplers among them are defaults, which the request itself can override. */
const readAdapter = objectOf({
  temperature: optional(looseNumber),
  top_k: optional(looseWhole),
  top_p: optional(looseNumber),
  min_p: optional(looseNumber),
  max_length: optional(looseWhole),
});

type SamplerField = (typeof samplingFields)[SamplingName]['wire'][number];
const unsigned = looseWholeWithin(-1, 2 ** 32 - 1);

/** Every name of every sampler, from the one table of them. */
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

/** Values outside of the range are moved into it, so that the schema does not forbid them. */
function samplerSchema({ type, default: usual, min, max, off, text }: SamplingField): JsonSchema {
  const range = min === undefined && max === undefined ? '' : `Moved into ${min ?? 'any'} to ${max ?? 'any'}.`;
  const description = [text, off === undefined ? '' : `Off: ${off}.`, range].filter(Boolean).join(' ');
  return { type, default: usual, description };
}

const together =
  'a text and a scale other than 1 together, which are refused unless started with --enableguidance; one alone has no effect and is named in x-parley-ignored';

/**
 * The controls of the native API, which requests of every family may carry beside their own fields (writers' clients in
 * chat mode do).
 */
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
      described(textsSchema, (value, path) => readBreakers(value, path).map(cutToBytes)),
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

export type Controls = Fields<typeof controlFields>;

/**
 * Rows for controls that a dialect knows by their native names: they are read with all the others, by their own table.
 * `check` holds them to the stricter types of the dialect.
 */
export function asControls(
  rows: Readonly<Partial<Record<keyof Controls, string>>>,
  { handling = 'honoured', check }: Partial<Pick<Said, 'handling'>> & { readonly check?: Read<unknown> } = {},
): Readonly<Record<never, never>> {
  const entries = Object.entries(rows);
  return Object.fromEntries(
    entries.map(([name, note]) => {
      const { schema = {} } = controlFields[name as keyof Controls].read;
      return [name, { handling, schema, ...(note && { note }), ...(check && { check }) }];
    }),
  );
}

function cutToBytes(text: string): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= limits.breakerBytes) return text;
  let end = limits.breakerBytes;
  // A character is kept whole or not at all: 10xxxxxx goes on with the character before it.
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** GBNF, or a JSON schema as itself or as its text. */
type SentGrammar = { readonly gbnf: string } | { readonly schema: unknown };

export function decodeGrammar(
  { grammar, grammar_retain_state: retainState }: Controls,
  schemaToGrammar: SchemaToGrammar,
): Grammar | undefined {
  if (grammar === undefined) return undefined;
  const gbnf = 'schema' in grammar ? grammarOf(grammar.schema, 'grammar', schemaToGrammar) : grammar.gbnf;
  return gbnf.trim() === '' ? undefined : { gbnf, retainState };
}

/** No GBNF text is valid JSON, so whatever parses was meant as a schema. */
function schemaInText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
