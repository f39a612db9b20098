/** Tags around the reasoning in raw text, by model family. */
const tags: readonly (readonly [start: string, end: string])[] = [
  ['<think>', '</think>'],
  ['<seed:think>', '</seed:think>'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<|channel>thought', '<channel|>'],
  ['[THINK]', '[/THINK]'],
  ['<|channel|>analysis<|message|>', '<|start|>assistant<|channel|>final<|message|>'],
];

/** Splits raw text into reasoning and reply. A closing tag alone means that the prompt had the opening one. */
export function splitReasoning(raw: string): { readonly reasoning: string; readonly text: string } {
  const body = raw.replace(/^\s+/, '');
  for (const [start, end] of tags) {
    const opened = body.startsWith(start);
    const at = body.indexOf(end);
    if (!opened && at === -1) continue;
    // With an opening tag further inside, both are part of the reply.
    if (!opened && tags.some(([other]) => body.slice(0, at).includes(other))) continue;
    const from = opened ? start.length : 0;
    if (at === -1) return { reasoning: withoutPartialTag(body.slice(from), end).trim(), text: '' };
    return {
      reasoning: body
        .slice(from, at)
        .replace(/<\|end\|>\s*$/, '')
        .trim(),
      text: body.slice(at + end.length).replace(/^\s+/, ''),
    };
  }
  const begun = tags.some(([start]) => body !== '' && start.startsWith(body));
  return { reasoning: '', text: begun ? '' : raw };
}

/** While the reasoning is generated, its last characters may be the start of the closing tag. */
function withoutPartialTag(text: string, end: string): string {
  for (let length = end.length - 1; length > 0; length -= 1) {
    if (text.endsWith(end.slice(0, length))) return text.slice(0, -length);
  }
  return text;
}

/** Where the reasoning at the start of a text ends: 0 if there is none, the whole length if it has no end yet. */
export function reasoningEnd(text: string): number {
  const start = text.length - text.trimStart().length;
  for (const [open, close] of tags) {
    if (!text.startsWith(open, start)) continue;
    const end = text.indexOf(close, start);
    return end === -1 ? text.length : end + close.length;
  }
  return 0;
}

/** A finished reply without its reasoning, as it is sent back to the model. */
export function withoutReasoning(text: string): string {
  const end = reasoningEnd(text);
  return end === 0 || end === text.length ? text : text.slice(end).trimStart();
}
