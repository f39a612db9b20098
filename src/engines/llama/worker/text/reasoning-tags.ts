import type { ReasoningTags } from '../../../../sampling/reasoning-budget.ts';
import type { Vocabulary } from './vocabulary.ts';

/** How each family writes its thinking, and of how many tokens the opening must consist for us to trust it. */
const families = [
  { start: '<think>', startTokens: 1, end: '</think>' },
  { start: '<|channel>thought', startTokens: 2, end: '<channel|>' },
  { start: '<seed:think>', startTokens: 1, end: '</seed:think>' },
  { start: '<|START_THINKING|>', startTokens: 1, end: '<|END_THINKING|>' },
  { start: '[THINK]', startTokens: 1, end: '[/THINK]' },
  { start: ' to=self<|message|>', startTokens: 3, end: '<|eom|>' },
] as const;

const closingWords = '\nThat is enough thinking; here is the answer.\n';

export interface ReasoningSetup {
  readonly tags: ReasoningTags;
  /** A short phrase that ends the thinking, and the tag that closes it. */
  readonly closing: readonly number[];
}

/** Undefined for a model that has no such tags: it does not think, so no budget is needed. */
export function findReasoning(vocabulary: Vocabulary): ReasoningSetup | undefined {
  const tokens = (text: string) => [...vocabulary.tokenize(text, { addSpecial: false })];
  for (const { start, startTokens, end } of families) {
    const opening = tokens(start);
    const [closing, ...rest] = tokens(end);
    if (opening.length !== startTokens || closing === undefined || rest.length > 0) continue;
    return { tags: { start: opening, end: closing }, closing: [...tokens(closingWords), closing] };
  }
  return undefined;
}
