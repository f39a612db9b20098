/** The known name that was probably meant: one that starts with the typed text, or the nearest by edit distance. */
export function suggest(typed: string, known: Iterable<string>): string | undefined {
  const normalized = normalize(typed);
  if (normalized.length < 2) return undefined;
  let best: string | undefined;
  let bestDistance = Math.floor(normalized.length / 3) + 1;
  for (const name of known) {
    const candidate = normalize(name);
    const distance = candidate.startsWith(normalized) ? 0.5 : editDistance(normalized, candidate);
    if (distance < bestDistance) [best, bestDistance] = [name, distance];
  }
  return best;
}

/** Ignores case, dashes and underscores, which are mixed up most often. */
const normalize = (name: string): string => name.toLowerCase().replace(/[-_]/g, '');

/** Damerau-Levenshtein distance (optimal string alignment). */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      const cost = Math.min(at(last, column) + 1, at(current, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      current.push(swapped ? Math.min(cost, at(beforeLast, column - 2) + 1) : cost);
    }
    [beforeLast, last] = [last, current];
  }
  return at(last, to.length);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;
