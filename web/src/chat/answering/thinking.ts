/** How models mark their thinking in a raw text. */
const marks: readonly (readonly [start: string, end: string])[] = [
  ['<think>', '</think>'],
  ['<seed:think>', '</seed:think>'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<|channel>thought', '<channel|>'],
  ['[THINK]', '[/THINK]'],
  ['<|channel|>analysis<|message|>', '<|start|>assistant<|channel|>final<|message|>'],
];

export interface Thought {
  readonly reasoning: string;
  readonly text: string;
}

/** A raw text parted into what was thought and what was said. An end without a beginning means that the prompt had begun it. */
export function parted(raw: string): Thought {
  const body = raw.replace(/^\s+/, '');
  for (const [start, end] of marks) {
    const opened = body.startsWith(start);
    const at = body.indexOf(end);
    if (!opened && at === -1) continue;
    // Behind words that were said, an end is a part of them.
    if (!opened && marks.some(([other]) => body.slice(0, at).includes(other))) continue;
    const from = opened ? start.length : 0;
    if (at === -1) return { reasoning: withoutHalfMark(body.slice(from), end).trim(), text: '' };
    return {
      reasoning: body
        .slice(from, at)
        .replace(/<\|end\|>\s*$/, '')
        .trim(),
      text: body.slice(at + end.length).replace(/^\s+/, ''),
    };
  }
  const begun = marks.some(([start]) => body !== '' && start.startsWith(body));
  return { reasoning: '', text: begun ? '' : raw };
}

/** While it is written, its last characters may be the first ones of the mark that ends it. */
function withoutHalfMark(text: string, end: string): string {
  for (let length = end.length - 1; length > 0; length -= 1) {
    if (text.endsWith(end.slice(0, length))) return text.slice(0, -length);
  }
  return text;
}
