/**
 * Which prompt is read on with: in turn the one that waits for longest, and the one with least left to read. A short
 * question does not wait for somebody's book, and the book gets at least every second chunk.
 */
export function nextReader<Reader extends { readonly remaining: number }>(
  oldestFirst: readonly Reader[],
  turn: number,
): Reader | undefined {
  const [oldest] = oldestFirst;
  if (!oldest || turn % 2 === 0) return oldest;
  return oldestFirst.reduce((least, reader) => (reader.remaining < least.remaining ? reader : least), oldest);
}
