import { asControls, readGenkey, readStop } from '../controls/table.ts';
import {
  objectOf,
  optional,
  optionalFlag,
  optionalNumber,
  optionalWhole,
  orElse,
  readFlag,
  wholeBetween,
} from '../fields/readers.ts';
import { textSchema } from '../fields/schemas.ts';
import { aside, type Fields, honoured, ignored, sentAs } from '../fields/table.ts';
import { keptText } from '../ticket.ts';
import { readLogitBias } from './bias.ts';

export const dialect = 'OpenAI';

export const afterSampling = 'The figures are those after the samplers: a token without rivals has 0.';
export const promptFigures =
  'Of every token that the model read, by the model alone; up to 20 alternatives. Not in streams, and not with pictures or sound.';
export const projector = 'Refused where the loaded model has no projector for it (--mmproj).';

/** More would be a wait without end; one reply is what nobody has to ask for. */
export const readReplies = orElse(wholeBetween(1, 128), 1);

/**
 * What chat and completions have in common: how the text is generated. The dialect's own fields are read strictly, unlike
 * the native controls beside them: its clients are typed, so that a wrong type is a mistake which they want to be told.
 */
export const generationFields = {
  // Whoever has several models has chosen one by it already.
  model: sentAs(
    textSchema,
    aside('approximated', 'Any name is accepted; the loaded model answers, and the reply carries its name.'),
  ),
  stream: honoured(orElse(readFlag, false)),
  stream_options: honoured(
    objectOf({ include_usage: orElse(readFlag, false) }),
    'include_usage; include_obfuscation has no effect.',
  ),
  stop: honoured(optional(readStop), 'Up to 256 texts, 50,000 characters together.'),
  temperature: honoured(optionalNumber, 'Negative values count as 0.'),
  top_p: honoured(optionalNumber, 'Moved into 0 to 1.'),
  presence_penalty: honoured(optionalNumber, 'Moved into -2 to 2.'),
  frequency_penalty: honoured(optionalNumber, 'Moved into -2 to 2.'),
  seed: honoured(optionalWhole, '-1 draws a fresh one.'),
  logit_bias: honoured(
    orElse(readLogitBias, []),
    'Up to 512 entries; also as a list of pairs, with texts for tokens and false for a ban.',
  ),
  timings_per_token: honoured(optionalFlag, 'Every chunk of a stream carries timings.'),
  n_predict: honoured(optionalWhole, 'Another name for max_tokens.'),
  max_completion_tokens: honoured(optionalWhole, 'Wins over max_tokens.'),
  ...asControls({ grammar: 'And every other control of the native API.' }),
  genkey: honoured(readGenkey),
  kcpp_extra_args: keptText,
  user: ignored(),
  return_progress: ignored(),
  samplers: ignored('The order of samplers is set with sampler_order.'),
  ...asControls({ cache_prompt: 'With false the whole prompt is computed again.' }),
  id_slot: ignored(),
  verbose: ignored(),
};

/** With the length of the reply, whose zero means something else in each of the two. */
export type GenerationFields = Fields<typeof generationFields> & { readonly max_tokens: number | undefined };
