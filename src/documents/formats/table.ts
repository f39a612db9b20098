import type { StructuredText } from './text-lines.ts';

const maxCells = 2_000_000;

/** A table of comma-separated (or otherwise separated) values: a line for each row, and the first one is the header. */
export function tableText(csv: string): StructuredText & { readonly hasLines: boolean } {
  const separator = separatorOf(csv);
  const lines: string[] = [];
  let cells: string[] = [];
  let count = 0;
  let broken = false;
  const end = (): void => {
    if (cells.some((cell) => cell !== '')) lines.push(cells.join(' | '));
    else broken ||= lines.length > 0;
    cells = [];
  };
  for (let at = 0; at < csv.length && count < maxCells; ) {
    let cell = '';
    if (csv[at] === '"') {
      const [inside, next] = quoted(csv, at + 1);
      broken ||= inside.includes('\n');
      cell = inside;
      at = next;
    }
    const rest = endOfCell(csv, at, separator);
    cells.push((cell + csv.slice(at, rest)).replace(/\s+/g, ' ').trim());
    count += 1;
    if (rest >= csv.length || csv[rest] === '\n') end();
    at = rest + 1;
  }
  end();
  return { text: lines.join('\n'), marks: [{ type: 'kind', at: 0, kind: 'table' }], hasLines: !broken };
}

function endOfCell(csv: string, from: number, separator: string): number {
  let at = from;
  while (at < csv.length && csv[at] !== separator && csv[at] !== '\n') at += 1;
  return at;
}

/** The text of a quoted cell, and where it ends. One without an end reaches to the end of its line. */
function quoted(csv: string, from: number): [string, number] {
  let inside = '';
  for (let at = from; ; ) {
    const quote = csv.indexOf('"', at);
    if (quote === -1) {
      const newline = csv.indexOf('\n', from);
      const end = newline === -1 ? csv.length : newline;
      return [csv.slice(from, end), end];
    }
    inside += csv.slice(at, quote);
    if (csv[quote + 1] !== '"') return [inside, quote + 1];
    inside += '"';
    at = quote + 2;
  }
}

/** The sign that parts the first line and most others into the same number of cells. */
function separatorOf(csv: string): string {
  const sample = csv.slice(0, 16_384).replace(/"[^"]*"/g, '');
  const lines = sample.split('\n', 20).filter((line) => line.trim() !== '');
  let best = ',';
  let most = 0;
  for (const sign of ['\t', ';', ',', '|']) {
    const [first = 0, ...others] = lines.map((line) => line.split(sign).length - 1);
    const same = others.filter((count) => count === first).length;
    if (first > most && same >= others.length / 2) [best, most] = [sign, first];
  }
  return best;
}
