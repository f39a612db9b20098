/** Markdown split into blocks. While the text grows, all but the last block stay the same. */
export interface Blocks {
  readonly list: readonly string[];
  /** All but the last block, joined. */
  readonly settled: string;
}

export type Lex = (text: string) => readonly { readonly type: string; readonly raw: string }[];

/** Parses only the text after the settled blocks of `before`. */
export function blocksOf(text: string, lex: Lex, before?: Blocks): Blocks {
  const source = text.replace(/\r\n?/g, '\n');
  const reused = before && before.settled !== '' && source.startsWith(before.settled) ? before : undefined;
  const list = reused ? reused.list.slice(0, -1) : [];
  const first = list.length;
  for (const { type, raw } of lex(source.slice(reused?.settled.length ?? 0))) {
    // Empty lines belong to the block before them: a list may continue after them.
    if (type === 'space' && list.length > first) list[list.length - 1] += raw;
    else list.push(raw);
  }
  return { list, settled: list.slice(0, -1).join('') };
}
