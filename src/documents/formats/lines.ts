/** The lines of a text, without their ends. */
export function* linesOf(text: string, from = 0, to = text.length): Generator<{ start: number; line: string }> {
  for (let start = from; start < to; ) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 || newline > to ? to : newline;
    yield { start, line: text.slice(start, end) };
    start = end + 1;
  }
}
