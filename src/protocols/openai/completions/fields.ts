import { asControls } from '../../controls/table.ts';
import { looseFlag } from '../../fields/loose.ts';
import {
  described,
  isAbsent,
  optionalText,
  optionalWhole,
  orElse,
  type Read,
  readFlag,
  readText,
  readWhole,
  wrong,
} from '../../fields/readers.ts';
import { promptsSchema } from '../../fields/schemas.ts';
import { approximated, each, type Fields, fidelityOf, honoured, ignored } from '../../fields/table.ts';
import { readNativeMedia } from '../../media.ts';
import { afterSampling, dialect, generationFields, projector, promptLogprobs, readReplies } from '../fields.ts';

type Tokens = readonly number[];
export type Prompt = string | Tokens;

const mostPrompts = 128;

/** Each prompt gets its own group of replies. Only an explicit null means an empty prompt. */
const readPrompts: Read<readonly Prompt[]> = described(promptsSchema, (value, path) => {
  const expected = 'a string, an array of strings, an array of token numbers, or an array of such arrays';
  if (value === null) return [''];
  if (typeof value === 'string') return [value];
  if (!Array.isArray(value) || value.length === 0) throw wrong(path, expected);
  const prompts: readonly unknown[] = value;
  if (isTokens(prompts)) return [prompts];
  if (prompts.length > mostPrompts) throw wrong(path, `an array of at most ${mostPrompts} prompts`);
  return prompts.map((one) => {
    if (typeof one === 'string' || isTokens(one)) return one;
    throw wrong(path, expected);
  });
});

function isTokens(prompt: unknown): prompt is Tokens {
  return Array.isArray(prompt) && prompt.length > 0 && prompt.every((token) => typeof token === 'number');
}

const readAlternatives: Read<number | undefined> = described({ type: ['integer', 'boolean'] }, (value, path) => {
  if (isAbsent(value) || value === false) return undefined;
  if (value === true) return 5;
  const count = readWhole(value, path);
  if (count < 0) throw wrong(path, 'a whole number that is not negative');
  return Math.min(count, 20);
});

export const completionFields = {
  prompt: honoured(readPrompts, 'Up to 128 texts or lists of tokens. Nothing is added in front of tokens.'),
  memory: honoured(orElse(readText, ''), 'Put in front of the prompt, as in the native API.'),
  replace_instruct_placeholders: honoured(orElse(looseFlag, true), 'As in the native API.'),
  images: honoured(readNativeMedia, `Base64, as in the native API, for every prompt. ${projector}`),
  audio: honoured(readNativeMedia, `As images. ${projector}`),
  ...generationFields,
  max_tokens: honoured(optionalWhole, '0 generates nothing, less is the default of the server. Cut to what fits.'),
  n: honoured(readReplies, 'Up to 128, in parallel if possible; each next reply has the next seed.'),
  best_of: honoured(readReplies, 'Up to 128. Not in streams.'),
  echo: honoured(orElse(readFlag, false), 'With logprobs also those of the prompt; null for its first token.'),
  prompt_logprobs: promptLogprobs(),
  suffix: honoured(optionalText, 'If the model has infill tokens. Not with tokens, or echo and logprobs.'),
  logprobs: approximated(readAlternatives, `Up to 20; true means 5. ${afterSampling}`),
  ...asControls({
    reasoning_effort: 'A limit; reasoning stays in the text.',
    thinking_budget_tokens: '',
  }),
  response_format: ignored('Use grammar.'),
  ...each(['service_tier', 'metadata', 'store'], ignored()),
};

export type CompletionFields = Fields<typeof completionFields>;

export const completionFidelity = fidelityOf(dialect, 'POST /v1/completions', completionFields);
