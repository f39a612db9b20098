/**
 * The object that a text begins, as far as it is certain: for arguments that were cut off. Texts stay as long as they are;
 * a key without a value, and a number or a word that may go on, are left out. What is no object is an empty one.
 */
export function partialObject(json: string): Readonly<Record<string, unknown>> {
  for (const candidate of completions(json)) {
    try {
      const value: unknown = JSON.parse(candidate);
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? (value as Record<string, unknown>)
        : {};
    } catch {
      // The next one leaves more of it out.
    }
  }
  return {};
}

/** The whole text, then the text with its last string closed, then with what stands behind its last whole value left out. */
function* completions(json: string): Generator<string> {
  yield json;
  const { open, text, wholeAt, openAtWhole } = scanned(json);
  if (text !== undefined) yield text + closing(open);
  else if (/"\s*$/.test(json)) yield json + closing(open);
  yield json.slice(0, wholeAt) + closing(openAtWhole);
}

interface Scanned {
  /** The brackets that are open at the end. */
  readonly open: readonly string[];
  /** The text with its last string closed, where it ends inside one. */
  readonly text: string | undefined;
  /** The last place at which everything before it was whole, and the brackets that were open there. */
  readonly wholeAt: number;
  readonly openAtWhole: readonly string[];
}

function scanned(json: string): Scanned {
  const open: string[] = [];
  let inString = false;
  let escapeAt = -1;
  let wholeAt = 0;
  let openAtWhole: readonly string[] = [];
  const whole = (end: number): void => {
    wholeAt = end;
    openAtWhole = [...open];
  };
  for (let index = 0; index < json.length; index += 1) {
    const character = json.charAt(index);
    if (inString) {
      if (escapeAt !== -1) escapeAt = index - escapeAt < escapeLength(json, escapeAt) ? escapeAt : -1;
      else if (character === '\\') escapeAt = index;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') {
      open.push(character);
      whole(index + 1);
    } else if (character === '}' || character === ']') {
      open.pop();
      whole(index + 1);
    } else if (character === ',') whole(index);
  }
  const text = inString ? `${json.slice(0, escapeAt === -1 ? json.length : escapeAt)}"` : undefined;
  return { open, text, wholeAt, openAtWhole };
}

/** How far behind the backslash an escape goes. */
function escapeLength(json: string, at: number): number {
  return json.charAt(at + 1) === 'u' ? 5 : 1;
}

function closing(open: readonly string[]): string {
  return [...open]
    .reverse()
    .map((bracket) => (bracket === '{' ? '}' : ']'))
    .join('');
}
