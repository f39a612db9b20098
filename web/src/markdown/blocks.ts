/** A text of markdown in its blocks. While it grows, all but the last block stay as they are. */
export interface Blocks {
  readonly list: readonly string[];
  /** All but the last one, joinedReply. */
  readonly settled: string;
}

export type Lex = (text: string) => readonly { readonly type: string; readonly raw: string }[];

/** Reads only what stands behind the settled blocks of the text as it was before. */
export function blocksOf(text: string, lex: Lex, before?: Blocks): Blocks {
  const source = text.replace(/\r\n?/g, '\n');
  const kept = before && before.settled !== '' && source.startsWith(before.settled) ? before : undefined;
  const list = kept ? kept.list.slice(0, -1) : [];
  const first = list.length;
  for (const { type, raw } of lex(source.slice(kept?.settled.length ?? 0))) {
    // Empty lines belong to what stands before them: a list may still go on behind them.
    if (type === 'space' && list.length > first) list[list.length - 1] += raw;
    else list.push(raw);
  }
  return { list, settled: list.slice(0, -1).join('') };
}
