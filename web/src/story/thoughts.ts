const pairs = [
  ['<think>', '</think>'],
  ['<seed:think>', '</seed:think>'],
  ['[THINK]', '[/THINK]'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
] as const;

/** Where the thoughts that some models write before their answer end: 0 where there are none, the whole length while they go on. */
export function thoughtsEnd(text: string): number {
  const start = text.length - text.trimStart().length;
  for (const [open, close] of pairs) {
    if (!text.startsWith(open, start)) continue;
    const end = text.indexOf(close, start);
    return end === -1 ? text.length : end + close.length;
  }
  return 0;
}

/** What a model is given of its own earlier replies. */
export function withoutThoughts(text: string): string {
  const end = thoughtsEnd(text);
  return end === 0 || end === text.length ? text : text.slice(end).trimStart();
}
