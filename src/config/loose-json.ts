import type { JsonObject, JsonValue } from './flag.ts';

const deepest = 64;

/**
 * An object as people type it into a shell: braces may be missing, quotes may be single or escaped once too often, and
 * `True`, `False` and `None` count as JSON's words. `undefined` where no such reading makes sense.
 */
export function parseLooseObject(text: string): JsonObject | undefined {
  const plain = text.trim();
  for (const candidate of [plain, plain.replaceAll('\\"', '"').replaceAll('\\\\', '\\')]) {
    const object = new LooseReader(withBraces(candidate)).readAll();
    if (object) return object;
  }
  return undefined;
}

function withBraces(text: string): string {
  const opened = text.startsWith('{') ? text : `{${text}`;
  // A missing brace can only be the outermost: counting them tells "}" of a nested object from our own.
  return depthAtEnd(opened) > 0 ? `${opened}}` : opened;
}

function depthAtEnd(text: string): number {
  let depth = 0;
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[{}]/g)) {
    if (token === '{') depth += 1;
    if (token === '}') depth -= 1;
  }
  return depth;
}

const words: ReadonlyMap<string, JsonValue> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['null', null],
  ['None', null],
]);

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['r', '\r'],
  ['b', '\b'],
  ['f', '\f'],
]);

class Unreadable extends Error {}

class LooseReader {
  #position = 0;

  constructor(readonly text: string) {}

  readAll(): JsonObject | undefined {
    try {
      const object = this.#object(0);
      this.#space();
      return this.#position === this.text.length ? object : undefined;
    } catch (error) {
      if (error instanceof Unreadable) return undefined;
      throw error;
    }
  }

  #value(depth: number): JsonValue {
    if (depth > deepest) throw new Unreadable();
    this.#space();
    const next = this.text[this.#position];
    if (next === '{') return this.#object(depth);
    if (next === '[') return this.#array(depth);
    if (next === '"' || next === "'") return this.#string(next);
    const bare = this.#bare();
    const word = words.get(bare);
    if (word !== undefined) return word;
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare) && Number.isFinite(Number(bare))) return Number(bare);
    throw new Unreadable();
  }

  #object(depth: number): JsonObject {
    const entries: [string, JsonValue][] = [];
    this.#expect('{');
    while (!this.#skip('}')) {
      this.#space();
      const next = this.text[this.#position];
      const key = next === '"' || next === "'" ? this.#string(next) : this.#bare();
      this.#expect(':');
      entries.push([key, this.#value(depth + 1)]);
      this.#separator('}');
    }
    // Unlike an assignment, this cannot reach the prototype through a key named `__proto__`.
    return Object.fromEntries(entries);
  }

  #array(depth: number): JsonValue[] {
    const items: JsonValue[] = [];
    this.#expect('[');
    while (!this.#skip(']')) {
      items.push(this.#value(depth + 1));
      this.#separator(']');
    }
    return items;
  }

  #string(quote: string): string {
    let result = '';
    this.#position += 1;
    for (;;) {
      const character = this.text[this.#position++];
      if (character === undefined) throw new Unreadable();
      if (character === quote) return result;
      result += character === '\\' ? this.#escape() : character;
    }
  }

  #escape(): string {
    const character = this.text[this.#position++];
    if (character === undefined) throw new Unreadable();
    if (character !== 'u') return escapes.get(character) ?? character;
    const digits = this.text.slice(this.#position, this.#position + 4);
    if (!/^[\da-f]{4}$/i.test(digits)) throw new Unreadable();
    this.#position += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #bare(): string {
    const start = this.#position;
    while (/[\w.+-]/.test(this.text[this.#position] ?? '')) this.#position += 1;
    if (this.#position === start) throw new Unreadable();
    return this.text.slice(start, this.#position);
  }

  /** A comma, or the end that the next look finds; a comma right before the end is fine. */
  #separator(end: string): void {
    if (this.#skip(',')) return;
    this.#space();
    if (this.text[this.#position] !== end) throw new Unreadable();
  }

  #expect(character: string): void {
    if (!this.#skip(character)) throw new Unreadable();
  }

  #skip(character: string): boolean {
    this.#space();
    if (this.text[this.#position] !== character) return false;
    this.#position += 1;
    return true;
  }

  #space(): void {
    while (/\s/.test(this.text[this.#position] ?? '')) this.#position += 1;
  }
}
