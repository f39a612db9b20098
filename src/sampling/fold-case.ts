/**
 * Lower case that does not depend on the neighbours, so that pieces folded one by one join to the folded whole: the two
 * small forms of sigma, which differ by their place in the word, become one.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ');
}
