import { AppError } from '../../core/errors.ts';
import type { EndpointFidelity } from '../../core/fidelity.ts';
import { samplersOfApi } from '../../core/sampling-fields.ts';
import { asControls, readGenkey, readStop } from '../controls/table.ts';
import { looseFlag } from '../fields/loose.ts';
import {
  anyValue,
  described,
  isAbsent,
  isObject,
  optional,
  optionalNumber,
  orElse,
  type Read,
  readNumber,
  readText,
  readTruncated,
  textList,
  wrong,
} from '../fields/readers.ts';
import {
  messagesSchema,
  objectSchema,
  objectsSchema,
  picturesSchema,
  promptsSchema,
  textSchema,
} from '../fields/schemas.ts';
import {
  approximated,
  aside,
  each,
  type Fields,
  fidelityOf,
  honoured,
  ignored,
  refused,
  withSchema,
} from '../fields/table.ts';
import { readLogitBias } from './bias.ts';
import { embeddingFields, rerankFields } from './embedding.ts';
import { readSamplers } from './samplers.ts';
import { detokenizeFields, tokenizeFields } from './tokens.ts';

const dialect = 'llama.cpp server';

const mostReplies = 32;

const readReplies: Read<number> = described({ type: 'integer', minimum: 1, maximum: mostReplies }, (value, path) => {
  const count = readTruncated(value, path);
  if (count < 1 || count > mostReplies) throw wrong(path, `a number from 1 to ${mostReplies}`);
  return count;
});

/** A number here, and a switch in the native family. */
const readAlternatives: Read<number> = described({ type: ['integer', 'boolean'] }, (value, path) => {
  if (typeof value === 'boolean') return value ? 10 : 0;
  return readTruncated(value, path);
});

const refuseLora: Read<void> = (value) => {
  if (Array.isArray(value) && value.length === 0) return;
  const instead = 'adapters are chosen at the start of the server, with --lora FILE and --loramult FACTOR';
  throw new AppError('unsupported', { feature: 'lora in a request', instead });
};

/** This dialect takes a number only as a number; the names of the native family beside it stay lenient. */
const strict = { check: readNumber };
const off = orElse(looseFlag, false);

/** The fields of both /completion and /infill. */
export const optionFields = {
  n_predict: approximated(
    optional(readTruncated),
    'less than 0 gives the server’s default length; 0 reads the prompt and writes nothing',
  ),
  ...each(
    ['max_tokens', 'max_completion_tokens'],
    approximated(optional(readTruncated), 'other names of n_predict, which wins'),
  ),
  ...each(['n_keep', 'n_discard'], ignored('a prompt that is too long is refused, or loses its beginning')),
  n_indent: honoured(orElse(readTruncated, 0), 'refused where several replies are asked for'),
  t_max_predict_ms: honoured(orElse(readNumber, 0), 'refused where several replies are asked for'),
  t_max_prompt_ms: ignored(),
  ...asControls(Object.fromEntries(Object.values(samplersOfApi('llamaCpp')).map((field) => [field, ''])), strict),
  ...asControls({ typ_p: 'another name of typical_p' }, strict),
  repeat_last_n: honoured(optional(readTruncated), '-1 is the whole context, 0 switches the penalties off'),
  ...asControls({ dry_sequence_breakers: '' }),
  dry_penalty_last_n: honoured(optionalNumber, '-1 is the whole context, 0 switches DRY off'),
  seed: honoured(optional(readTruncated), '-1 draws one; texts differ from those of llama.cpp for the same seed'),
  samplers: approximated(
    optional(readSamplers),
    'the named ones run in this order, but dry is always first, xtc last, min_p with top_p; unknown names do nothing',
  ),
  min_keep: ignored(),
  ignore_eos: honoured(off),
  logit_bias: honoured(orElse(readLogitBias, []), 'pairs or an object; tokens by number or text, false forbids'),
  ...asControls({ grammar: 'only one of the two' }),
  json_schema: honoured(described(objectSchema, anyValue), 'only one of the two'),
  grammar_lazy: honoured(off),
  grammar_triggers: approximated(
    described(objectsSchema, anyValue),
    'at most 64; patterns without look-around and back-references; a token without its number is looked for as text',
  ),
  preserved_tokens: ignored(),
  stop: honoured(optional(readStop)),
  stream: honoured(off),
  n_probs: approximated(
    optional(readAlternatives),
    'always after sampling, and never less likely than one in ten thousand',
  ),
  logprobs: approximated(optional(readAlternatives), 'another name of n_probs'),
  post_sampling_probs: honoured(off, 'changes the names; the values are such in any case'),
  return_tokens: honoured(off),
  response_fields: honoured(
    orElse(textList('an array of strings'), []),
    'of the last object, each under its full path',
  ),
  timings_per_token: approximated(off, 'measured outside of the engine until the last object'),
  return_progress: approximated(off, 'tells the beginning and the end of the prompt'),
  ...each(['verbose', 'sse_ping_interval', 'id_slot', 'n_cache_reuse', 'backend_sampling'], ignored()),
  n_cmpl: honoured(
    optional(readReplies),
    'beside each other where there is room; with a seed each has its own, counted up from it',
  ),
  n: honoured(optional(readReplies), 'another name of n_cmpl'),
  ...asControls({ cache_prompt: 'with false the whole prompt is computed again' }),
  genkey: honoured(readGenkey, 'the key by which the native API can look at it and stop it'),
  lora: refused('adapters are given at the start of the server', refuseLora),
  model: ignored(),
};

export type OptionFields = Fields<typeof optionFields>;

export const promptFields = {
  prompt: approximated(
    described({ anyOf: [promptsSchema, objectSchema] }, anyValue),
    'texts are honoured; token numbers are turned into their text, which the model reads anew',
  ),
  multimodal_data: withSchema(
    picturesSchema,
    aside(
      'honoured',
      'inside of prompt, beside a prompt_string with <__media__> once for each; refused without --mmproj',
    ),
  ),
};

const readExtraFiles: Read<readonly { readonly name: string; readonly text: string }[]> = described(
  {
    type: 'array',
    items: { type: 'object', properties: { filename: textSchema, text: textSchema }, required: ['text'] },
  },
  (value, path) => {
    const refusal = () => wrong(path, 'an array of {"filename", "text"}');
    if (!Array.isArray(value)) throw refusal();
    return value.map((entry) => {
      if (!isObject(entry) || typeof entry.text !== 'string') throw refusal();
      if (!isAbsent(entry.filename) && typeof entry.filename !== 'string') throw refusal();
      return { name: entry.filename ?? 'tmp', text: entry.text };
    });
  },
);

export const gapFields = {
  ...each(['input_prefix', 'input_suffix'], honoured(readText, 'cut to the part around the gap')),
  input_extra: honoured(orElse(readExtraFiles, [])),
  prompt: honoured(orElse(readText, ''), 'a text'),
};

/** Read as the body of a chat completion. */
const templateFields = {
  messages: withSchema(messagesSchema, aside('honoured')),
  tools: withSchema(objectsSchema, aside('honoured', 'where the template is trusted with them')),
  chat_template_kwargs: withSchema(objectSchema, aside('honoured', 'where the model’s template is used')),
};

export const completionFidelity = fidelityOf(dialect, 'POST /completion', { ...promptFields, ...optionFields });
export const infillFidelity = fidelityOf(dialect, 'POST /infill', { ...gapFields, ...optionFields });

export const llamacppFidelity: readonly EndpointFidelity[] = [
  completionFidelity,
  infillFidelity,
  fidelityOf(dialect, 'POST /tokenize', tokenizeFields),
  fidelityOf(dialect, 'POST /detokenize', detokenizeFields),
  fidelityOf(dialect, 'POST /apply-template', templateFields),
  fidelityOf(dialect, 'POST /embedding', embeddingFields),
  fidelityOf(dialect, 'POST /v1/rerank', rerankFields),
];
