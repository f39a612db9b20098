import { refuseWithoutModel } from '../../../core/model-error.ts';
import type { DialectParts } from '../../dialect.ts';
import { findMarks, gapPrompt } from '../../fill-marks.ts';
import { unsupportedField } from '../errors.ts';
import type { SentPrompt } from './prompt.ts';

interface Beside {
  readonly prompts: readonly SentPrompt[];
  /** The prompt is told with figures: between the marks of a gap it would be another text. */
  readonly scoredEcho: boolean;
}

/** What makes prompts of the texts before a gap, where the request has a text behind it. */
export async function gapFiller(
  behind: string | undefined,
  { prompts, scoredEcho }: Beside,
  { text }: Pick<DialectParts, 'text'>,
): Promise<(before: string) => string> {
  if (!behind) return (before) => before;
  if (scoredEcho) throw unsupportedField('suffix', 'it does not go with echo and logprobs');
  if (prompts.some(({ tokens }) => tokens))
    throw unsupportedField('suffix', 'it goes only with prompts that are texts');
  const search = await findMarks(text);
  refuseWithoutModel(text.state());
  if (search.type === 'missing') throw unsupportedField('suffix', uncapable);
  return (before) => gapPrompt(search.marks, before, behind);
}

const uncapable = 'this model has no marks for a gap in a text; send only the text before it';
