const closers: Readonly<Record<string, string>> = { '{': '}', '[': ']' };
const plainCharacters = new Set(' \t\r\n:,.+-0123456789eEtrufalsn');

/** Follows one JSON object through pieces of text, to find where it ends or where it can no longer be JSON. */
export class JsonScan {
  readonly #open: string[] = [];
  #inString = false;
  #escaped = false;

  /** How much of the text belongs to the object, and whether it is over with that. */
  push(text: string): { readonly length: number; readonly state: 'more' | 'ended' | 'broken' } {
    for (let index = 0; index < text.length; index++) {
      const character = text.charAt(index);
      if (this.#inString) this.#readString(character);
      else if (!this.#readStructure(character)) return { length: index, state: 'broken' };
      if (this.#open.length === 0) return { length: index + 1, state: 'ended' };
    }
    return { length: text.length, state: 'more' };
  }

  #readString(character: string): void {
    if (this.#escaped) this.#escaped = false;
    else if (character === '\\') this.#escaped = true;
    else if (character === '"') this.#inString = false;
  }

  #readStructure(character: string): boolean {
    const closer = closers[character];
    if (closer !== undefined) this.#open.push(closer);
    else if (character === '"') this.#inString = true;
    else if (character === '}' || character === ']') return this.#open.pop() === character;
    else return plainCharacters.has(character);
    return true;
  }
}
