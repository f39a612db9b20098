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
import { approximated, type Fields, honoured, ignored } from '../../fields/table.ts';
import { readNativeMedia } from '../../media.ts';
import { afterSampling, generationFields, projector, promptFigures, readReplies } from '../fields.ts';
import { readPromptLogprobs } from '../prompt-logprobs.ts';
import { readPrompts } from './prompt.ts';

const mostAlternatives = 20;
/** What a bare `true` asks for: as many as this dialect ever knew. */
const usualAlternatives = 5;

const readAlternatives: Read<number | undefined> = described({ type: ['integer', 'boolean'] }, (value, path) => {
  if (isAbsent(value) || value === false) return undefined;
  if (value === true) return usualAlternatives;
  const count = readWhole(value, path);
  if (count < 0) throw wrong(path, 'a whole number that is not negative');
  return Math.min(count, mostAlternatives);
});

export const completionFields = {
  prompt: honoured(
    readPrompts,
    'Up to 128 texts or lists of token numbers. Numbers are taken as they are: nothing is put before.',
  ),
  memory: honoured(orElse(readText, ''), 'Put in front of the prompt, as in the native API.'),
  replace_instruct_placeholders: honoured(orElse(looseFlag, true), 'As in the native API.'),
  images: honoured(readNativeMedia, `Of the native API: base64, for every prompt. ${projector}`),
  audio: honoured(readNativeMedia, `As images. ${projector}`),
  ...generationFields,
  max_tokens: honoured(
    optionalWhole,
    '0 writes nothing, less means the default of the server; too much is cut to what there is room for.',
  ),
  n: honoured(
    readReplies,
    'Up to 128, beside each other where there is room. With a seed each has its own, counted up from it.',
  ),
  best_of: honoured(readReplies, 'Up to 128. Not in streams.'),
  echo: honoured(
    orElse(readFlag, false),
    'With logprobs the prompt has figures too: those of the model alone, and null for its first token.',
  ),
  prompt_logprobs: honoured(readPromptLogprobs, promptFigures),
  suffix: honoured(
    optionalText,
    'With models that have marks for a gap; others refuse it. Not with token numbers, nor with echo and logprobs.',
  ),
  logprobs: approximated(readAlternatives, `Up to 20; true means 5. ${afterSampling}`),
  ...asControls({
    reasoning_effort: 'As a budget for thinking, which stays in the text.',
    thinking_budget_tokens: '',
  }),
  response_format: ignored('Use grammar.'),
  service_tier: ignored(),
  metadata: ignored(),
  store: ignored(),
};

export type CompletionFields = Fields<typeof completionFields>;
