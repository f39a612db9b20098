import { samplersOfApi } from '../../core/sampling-fields.ts';
import { asControls, readGenkey, readStop } from '../controls/table.ts';
import * as f from '../fields.ts';
import { readLogitBias, readSamplers } from './samplers.ts';

const maxReplies = 32;

const readReplies: f.Read<number> = f.described({ type: 'integer', minimum: 1, maximum: maxReplies }, (value, path) => {
  const count = f.readTruncated(value, path);
  if (count < 1 || count > maxReplies) throw f.wrong(path, `a number from 1 to ${maxReplies}`);
  return count;
});

/** A number here, and a switch in the native dialect. */
const readAlternatives: f.Read<number> = f.described({ type: ['integer', 'boolean'] }, (value, path) => {
  if (typeof value === 'boolean') return value ? 10 : 0;
  return f.readTruncated(value, path);
});

/** This dialect takes a number only as a number; the names of the native dialect beside it stay lenient. */
const strict = { check: f.readNumber };
const off = f.orElse(f.looseFlag, false);

/** The fields of both /completion and /infill. */
export const optionFields = {
  n_predict: f.approximated(
    f.optional(f.readTruncated),
    'less than 0 gives the server’s default length; 0 reads the prompt and writes nothing',
  ),
  ...f.each(
    ['max_tokens', 'max_completion_tokens'],
    f.approximated(f.optional(f.readTruncated), 'other names of n_predict, which wins'),
  ),
  ...f.each(['n_keep', 'n_discard'], f.ignored('a prompt that is too long is refused, or loses its beginning')),
  n_indent: f.honoured(f.orElse(f.readTruncated, 0), 'refused if several replies are requested'),
  t_max_predict_ms: f.honoured(f.orElse(f.readNumber, 0), 'refused if several replies are requested'),
  t_max_prompt_ms: f.ignored(),
  ...asControls(Object.fromEntries(Object.values(samplersOfApi('llamaCpp')).map((field) => [field, ''])), strict),
  ...asControls({ typ_p: 'another name of typical_p' }, strict),
  repeat_last_n: f.honoured(f.optional(f.readTruncated), '-1 is the whole context, 0 switches the penalties off'),
  ...asControls({ dry_sequence_breakers: '' }),
  dry_penalty_last_n: f.honoured(f.optionalNumber, '-1 is the whole context, 0 switches DRY off'),
  seed: f.honoured(f.optional(f.readTruncated), '-1 draws one; texts differ from those of llama.cpp for the same seed'),
  samplers: f.approximated(
    f.optional(readSamplers),
    'the named ones run in this order, but dry is always first, xtc last, min_p with top_p; unknown names do nothing',
  ),
  min_keep: f.ignored(),
  ...asControls({ ignore_eos: '' }),
  logit_bias: f.honoured(f.orElse(readLogitBias, []), 'pairs or an object; tokens by number or text, false forbids'),
  ...asControls({ grammar: 'only one of the two' }),
  json_schema: f.honoured(f.described(f.objectSchema, f.anyValue), 'only one of the two'),
  grammar_lazy: f.honoured(off),
  grammar_triggers: f.approximated(
    f.described(f.objectsSchema, f.anyValue),
    'at most 64; patterns without look-around and back-references; a token without its number is looked for as text',
  ),
  preserved_tokens: f.ignored(),
  stop: f.honoured(f.optional(readStop)),
  stream: f.honoured(off),
  n_probs: f.approximated(
    f.optional(readAlternatives),
    'always after sampling, and never less likely than one in ten thousand',
  ),
  logprobs: f.approximated(f.optional(readAlternatives), 'another name of n_probs'),
  post_sampling_probs: f.honoured(off, 'changes the names; the values are such in any case'),
  return_tokens: f.honoured(off),
  response_fields: f.honoured(
    f.orElse(f.textList('an array of strings'), []),
    'of the last object, each under its full path',
  ),
  timings_per_token: f.approximated(off, 'measured outside of the engine until the last object'),
  return_progress: f.honoured(off, 'Streams have objects with prompt_progress.'),
  ...f.each(['verbose', 'sse_ping_interval', 'id_slot', 'n_cache_reuse', 'backend_sampling'], f.ignored()),
  n_cmpl: f.honoured(
    f.optional(readReplies),
    'beside each other where there is room; with a seed each has its own, counted up from it',
  ),
  n: f.honoured(f.optional(readReplies), 'another name of n_cmpl'),
  ...asControls({ cache_prompt: 'with false the whole prompt is computed again' }),
  genkey: f.honoured(readGenkey, 'the key by which the native API can look at it and stop it'),
  ...asControls({ lora: 'by id (see /lora-adapters) or name; those that are not named do not apply' }),
  model: f.ignored(),
};

export type OptionFields = f.Fields<typeof optionFields>;

export const promptFields = {
  prompt: f.approximated(
    f.described({ anyOf: [f.promptsSchema, f.objectSchema] }, f.anyValue),
    'texts are honoured; token numbers are turned into their text, which the model reads anew',
  ),
  multimodal_data: f.withSchema(
    f.picturesSchema,
    f.aside(
      'honoured',
      'inside of prompt, beside a prompt_string with <__media__> once for each; refused without --mmproj',
    ),
  ),
};

const readExtraFiles: f.Read<readonly { readonly name: string; readonly text: string }[]> = f.described(
  {
    type: 'array',
    items: { type: 'object', properties: { filename: f.textSchema, text: f.textSchema }, required: ['text'] },
  },
  (value, path) => {
    const refusal = () => f.wrong(path, 'an array of {"filename", "text"}');
    if (!Array.isArray(value)) throw refusal();
    return value.map((entry) => {
      if (!f.isObject(entry) || typeof entry.text !== 'string') throw refusal();
      if (!f.isAbsent(entry.filename) && typeof entry.filename !== 'string') throw refusal();
      return { name: entry.filename ?? 'tmp', text: entry.text };
    });
  },
);

/** Text before and after the gap of an infill request, and other files. */
export const gapFields = {
  ...f.each(['input_prefix', 'input_suffix'], f.honoured(f.readText, 'cut to the part around the gap')),
  input_extra: f.honoured(f.orElse(readExtraFiles, [])),
  prompt: f.honoured(f.orElse(f.readText, ''), 'a text'),
};

/** Read as the body of a chat completion. */
export const templateFields = {
  messages: f.withSchema(f.messagesSchema, f.aside('honoured')),
  tools: f.withSchema(f.objectsSchema, f.aside('honoured', 'where the template is trusted with them')),
  chat_template_kwargs: f.withSchema(f.objectSchema, f.aside('honoured', 'where the model’s template is used')),
};

export const completionFields = { ...promptFields, ...optionFields };
export const infillFields = { ...gapFields, ...optionFields };
