/**
 * Guesses what comes next without a second model: where the last tokens stood before, what followed them then is likely
 * to follow again. Texts that quote themselves (code, summaries, JSON) profit; others lose nothing but the search.
 */
export function lookupDraft(tokens: Int32Array, length: number, pattern: number, most: number): Int32Array {
  const start = length - pattern;
  if (start <= 0 || most <= 0) return tokens.subarray(0, 0);
  for (let place = start - 1; place >= 0; place -= 1) {
    if (!matches(tokens, place, start, pattern)) continue;
    const from = place + pattern;
    return tokens.subarray(from, Math.min(from + most, length));
  }
  return tokens.subarray(0, 0);
}

function matches(tokens: Int32Array, place: number, start: number, pattern: number): boolean {
  for (let offset = pattern - 1; offset >= 0; offset -= 1) {
    if (tokens[place + offset] !== tokens[start + offset]) return false;
  }
  return true;
}
