const strong = /\p{L}/u;
const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]|[\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u;

/** The direction of the first letter. */
export function directionOf(text: string): 'ltr' | 'rtl' {
  const [letter = ''] = strong.exec(text) ?? [];
  return rightToLeft.test(letter) ? 'rtl' : 'ltr';
}
