/** Pictures, with what joins and varies them. Keyboard symbols are not included. */
const emoji =
  /(?:\p{Extended_Pictographic}|[\u{1f1e6}-\u{1f1ff}]|[\u{1f3fb}-\u{1f3ff}])(?:\ufe0e|\ufe0f|\u200d|\u20e3)*/gu;
/** They are symbols that are read, or that are left to others. */
const readSymbols = /^[\u00a9\u00ae\u2122\u2194-\u2199\u21a9\u21aa]/u;

/** White space in short, because patterns of later steps take quadratic time for long runs of it. */
export function collapsed(text: string): string {
  return text
    .replace(/\r\n?/g, '\n')
    .replace(/[^\S\n]+/g, ' ')
    .replace(/\n(?: ?\n)+ ?/g, '\n\n');
}

/** Text without Markdown marks and emoji. What a link points to is not read; what it says is. */
export function withoutMarkup(text: string): string {
  return collapsed(text)
    .replace(/^[ \t]*(?:```|~~~)[^\n]*$/gm, '')
    .replace(/!?\[([^\]\n]{0,500})\]\([^)\s]{0,2000}(?:\s"[^"\n]{0,200}")?\)/g, '$1')
    .replace(/^[ \t]{0,3}#{1,6}[ \t]+/gm, '')
    .replace(/^[ \t]*>[ \t]?/gm, '')
    .replace(/^[ \t]*[-*+\u2022][ \t]+(?=\S)/gm, '')
    .replace(/^[ \t]*(?:[-*_][ \t]*){3,}$/gm, '')
    .replace(/^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)+\|?[ \t]*$/gm, '')
    .replace(
      /^[ \t]*\|(.*)\|[ \t]*$/gm,
      (_, cells: string) =>
        `${cells
          .split('|')
          .map((cell) => cell.trim())
          .filter(Boolean)
          .join(', ')}.`,
    )
    .replace(/\*\*(?=\S)([^*\n]{1,1000})(?<=\S)\*\*/g, '$1')
    .replace(/(?<![\w*])\*(?=\S)([^*\n]{1,1000})(?<=\S)\*(?![\w*])/g, '$1')
    .replace(/(?<!\w)__?(?=\S)([^_\n]{1,1000})(?<=\S)__?(?!\w)/g, '$1')
    .replace(/~~(?=\S)([^~\n]{1,1000})(?<=\S)~~/g, '$1')
    .replace(/`+([^`\n]{1,1000})`+/g, '$1')
    .replace(/<\/?[a-z][a-z0-9]{0,20}(?:\s[^<>\n]{0,300})?\/?>/gi, ' ')
    .replace(emoji, (found) => (readSymbols.test(found) ? found.charAt(0) : ' '))
    .replace(/\ufe0e|\ufe0f|[\u200b-\u200d]|\u2060|\ufeff|\u00ad/g, '');
}
