/** The items whose text contains what is typed, in any case: those that begin with it first, else in their order. */
export function completions<Item>(
  items: readonly Item[],
  typed: string,
  textOf: (item: Item) => string,
): readonly Item[] {
  const query = typed.toLowerCase();
  const matches = items.filter((item) => textOf(item).toLowerCase().includes(query));
  const begins = (item: Item): boolean => textOf(item).toLowerCase().startsWith(query);
  return [...matches.filter(begins), ...matches.filter((item) => !begins(item))];
}
