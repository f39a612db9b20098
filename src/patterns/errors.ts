/** Why patterns are refused, as the server says it. The pages have the same sentences in other languages. */
export const patternReasons = {
  length: (limit: Detail) => `the pattern is longer than ${limit} characters`,
  depth: (limit: Detail) => `the pattern is nested deeper than ${limit} groups`,
  groups: (limit: Detail) => `the pattern has more than ${limit} groups`,
  steps: (limit: Detail) => `the pattern needs more than ${limit} steps; counts like {1,500} are written out`,
  result: 'the pattern makes the text too long',
  time: 'the pattern takes too long on this text',
  empty: 'the pattern is empty',
  end: 'the pattern ends in the middle of something',
  openGroup: 'the pattern has a group without an end',
  closedGroup: 'the pattern closes a group that it did not open',
  nothingRepeated: 'the pattern has a quantifier with nothing before it',
  anchorRepeated: 'the pattern has a quantifier after an anchor',
  twoQuantifiers: 'the pattern has two quantifiers in a row',
  counts: 'the pattern has a quantifier out of order',
  brace: 'the pattern has a brace that is no quantifier; write \\{ for the character',
  range: 'the pattern has a range of characters that is out of order',
  escape: 'the pattern has a broken escape',
  flag: (flag: Detail) => `the pattern has the flag ${flag}, which is not supported here`,
  unknownEscape: (written: Detail) => `the pattern uses ${written}, which is not supported here`,
  octal: 'the pattern uses an octal escape, which is not supported here',
  surrogate: 'the pattern uses half of a surrogate pair, which is not supported here',
  backReference: 'the pattern uses a back-reference, which is not supported here',
  lookBehind: 'the pattern uses a look-behind, which is not supported here',
  lookAhead: 'the pattern uses a look-ahead, which is not supported here',
  modifier: 'the pattern uses a look-around or a modifier, which is not supported here',
} as const;

export type PatternReason = keyof typeof patternReasons;
type Detail = string | number;

export class PatternError extends Error {
  /** The character of the error, counted from 1. */
  readonly place: number | undefined;
  /** A limit, or what is not supported, where the sentence has it. */
  readonly detail: Detail | undefined;

  constructor(
    readonly reason: PatternReason,
    { place, detail }: { readonly place?: number | undefined; readonly detail?: Detail | undefined } = {},
  ) {
    super(sentenceOf(patternReasons, reason, detail));
    this.place = place;
    this.detail = detail;
  }
}

/** The sentence of a reason, which begins with “the pattern”. */
export function sentenceOf(
  sentences: Readonly<Record<PatternReason, string | ((detail: Detail) => string)>>,
  reason: PatternReason,
  detail: Detail = '',
): string {
  const sentence = sentences[reason];
  return typeof sentence === 'string' ? sentence : sentence(detail);
}
