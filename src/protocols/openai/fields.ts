import { asControls, loadedModel, readGenkey, readStop } from '../controls/table.ts';
import * as f from '../fields.ts';
import { keepOnDisconnect } from '../request-context.ts';
import { ttlField } from '../ttl.ts';

export const afterSampling = 'Computed after the samplers: a token without alternatives has 0.';
export const projector = 'Refused if the model has no projector for it (--mmproj).';
const promptFigures =
  'Of every prompt token, before the samplers; up to 20 alternatives. Not in streams, and not with media.';

export const promptLogprobs = (note = '') => f.honoured(f.optional(f.wholeBetween(0, 20)), `${promptFigures}${note}`);

/** `n` and `best_of`. */
export const readReplies = f.orElse(f.wholeBetween(1, 128), 1);

export type Bias = readonly [key: string | number, bias: number];
export const maxBias = 100;

/** `{"15496": -100}`, or pairs as in llama.cpp, where a key may be a text (for all of its tokens) and `false` bans. */
const readLogitBias: f.Read<readonly Bias[]> = f.described(f.biasSchema, (value, path) => {
  const refusal = () => f.wrong(path, 'an object from token numbers to numbers, or a list of such pairs');
  const pairs = f.isObject(value) ? Object.entries(value).map(([key, bias]) => [tokenOrText(key), bias]) : value;
  if (!Array.isArray(pairs)) throw refusal();
  return pairs.map((entry): Bias => {
    if (!Array.isArray(entry) || entry.length !== 2) throw refusal();
    const [key, bias] = entry as [unknown, unknown];
    const known = typeof key === 'string' || (typeof key === 'number' && Number.isInteger(key));
    if (!known || (typeof bias !== 'number' && bias !== false)) throw refusal();
    return [key, bias === false ? -maxBias : bias];
  });
});

/** Keys of an object are always texts: those that are whole numbers mean tokens. */
function tokenOrText(key: string): string | number {
  return /^-?\d{1,9}$/.test(key.trim()) ? Number(key) : key;
}

/** The fields of chats and completions. Unlike native controls they are read strictly: these clients are typed. */
export const generationFields = {
  model: loadedModel,
  stream: f.honoured(f.orElse(f.readFlag, false)),
  stream_options: f.honoured(f.objectOf({ include_usage: f.orElse(f.readFlag, false) }), 'Only include_usage.'),
  stop: f.honoured(f.optional(readStop), 'Up to 256 texts, 50,000 characters together.'),
  temperature: f.honoured(f.optionalNumber, 'Negative values count as 0.'),
  top_p: f.honoured(f.optionalNumber, 'Moved into 0 to 1.'),
  presence_penalty: f.honoured(f.optionalNumber, 'Moved into -2 to 2.'),
  frequency_penalty: f.honoured(f.optionalNumber, 'Moved into -2 to 2.'),
  seed: f.honoured(f.optionalWhole, '-1 draws a fresh one.'),
  logit_bias: f.honoured(
    f.orElse(readLogitBias, []),
    'Up to 512; also pairs, with texts for tokens, and false for a ban.',
  ),
  timings_per_token: f.honoured(f.optionalFlag, 'Every chunk of a stream has timings.'),
  n_predict: f.honoured(f.optionalWhole, 'Another name for max_tokens.'),
  max_completion_tokens: f.honoured(f.optionalWhole, 'Wins over max_tokens.'),
  ...asControls({ grammar: 'And every other control of the native API.' }),
  genkey: f.honoured(readGenkey),
  ttl: ttlField,
  kcpp_extra_args: keepOnDisconnect,
  user: f.ignored(),
  return_progress: f.honoured(f.optionalFlag, 'Streams have chunks with prompt_progress, as those of llama-server.'),
  samplers: f.ignored('The order of samplers is set with sampler_order.'),
  ...asControls({ cache_prompt: 'With false the whole prompt is computed again.' }),
  id_slot: f.ignored(),
  verbose: f.ignored(),
};

/** With those whose documentation differs. */
export type GenerationFields = f.Fields<typeof generationFields> &
  Readonly<Record<'max_tokens' | 'prompt_logprobs', number | undefined>>;
