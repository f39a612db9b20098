/** The words that image programs write into their pictures (`parameters`), and read from them again. */
export interface PictureStory {
  readonly prompt: string;
  readonly negativePrompt: string;
  /** In this order; what is undefined is left out. */
  readonly entries: readonly (readonly [key: string, value: string | number | undefined])[];
}

export function infotext({ prompt, negativePrompt, entries }: PictureStory): string {
  const told = entries.flatMap(([key, value]) => (value === undefined ? [] : [`${key}: ${quoted(String(value))}`]));
  return [prompt, ...(negativePrompt === '' ? [] : [`Negative prompt: ${negativePrompt}`]), told.join(', ')].join('\n');
}

function quoted(value: string): string {
  return /[,:\n]/.test(value) ? JSON.stringify(value) : value;
}

/** Each pair of the last line, beside the prompts; sizes are two numbers. */
export function parseInfotext(text: string): Readonly<Record<string, string>> {
  const lines = text.trim().split('\n');
  const pairs = pairsOf(lines.at(-1) ?? '');
  const words = pairs.length >= 3 ? lines.slice(0, -1) : lines;
  const negativeAt = words.findIndex((line) => line.startsWith(negativeMark));
  const prompt = negativeAt < 0 ? words : words.slice(0, negativeAt);
  const negative = negativeAt < 0 ? [] : words.slice(negativeAt);
  return Object.fromEntries([
    ['Prompt', prompt.join('\n').trim()],
    ['Negative prompt', negative.join('\n').slice(negativeMark.length).trim()],
    ...(pairs.length >= 3 ? pairs.flatMap(spread) : []),
  ]);
}

const negativeMark = 'Negative prompt:';

function spread([key, value]: readonly [string, string]): readonly (readonly [string, string])[] {
  const size = /^(\d{1,9})x(\d{1,9})$/.exec(value);
  if (!size) return [[key, value]];
  return [
    [`${key}-1`, size[1] ?? ''],
    [`${key}-2`, size[2] ?? ''],
  ];
}

function pairsOf(line: string): readonly (readonly [string, string])[] {
  return pieces(line).flatMap((piece) => {
    const colon = piece.indexOf(':');
    const key = piece.slice(0, Math.max(0, colon)).trim();
    return /^\w[\w /-]*$/.test(key) ? [[key, unquoted(piece.slice(colon + 1).trim())] as const] : [];
  });
}

/** Cut at commas that stand in no quotes. One walk over the line: it comes from anywhere, and may be long. */
function pieces(line: string): readonly string[] {
  const found: string[] = [];
  let start = 0;
  let inside = false;
  for (let at = 0; at < line.length; at++) {
    const character = line[at];
    if (inside && character === '\\') at++;
    else if (character === '"') inside = !inside;
    else if (character === ',' && !inside) {
      found.push(line.slice(start, at));
      start = at + 1;
    }
  }
  return [...found, line.slice(start)];
}

function unquoted(value: string): string {
  if (!value.startsWith('"')) return value;
  try {
    return String(JSON.parse(value));
  } catch {
    return value;
  }
}
