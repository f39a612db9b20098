import type { JsonObject, JsonValue } from './flag.ts';

const maxDepth = 64;

/**
 * Parses an object as typed into a shell: braces may be missing, quotes may be single or escaped once too often, and `True`,
 * `False` and `None` are accepted. Returns `undefined` for anything else.
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
  // Only the outermost brace may be missing; counting tells it from that of a nested object.
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

class LooseSyntaxError extends Error {}

class LooseReader {
  #position = 0;

  constructor(readonly text: string) {}

  readAll(): JsonObject | undefined {
    try {
      const object = this.#object(0);
      this.#space();
      return this.#position === this.text.length ? object : undefined;
    } catch (error) {
      if (error instanceof LooseSyntaxError) return undefined;
      throw error;
    }
  }

  #value(depth: number): JsonValue {
    if (depth > maxDepth) throw new LooseSyntaxError();
    this.#space();
    const next = this.text[this.#position];
    if (next === '{') return this.#object(depth);
    if (next === '[') return this.#array(depth);
    if (next === '"' || next === "'") return this.#string(next);
    const bare = this.#bare();
    const word = words.get(bare);
    if (word !== undefined) return word;
    if (/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(bare) && Number.isFinite(Number(bare))) return Number(bare);
    throw new LooseSyntaxError();
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
      if (character === undefined) throw new LooseSyntaxError();
      if (character === quote) return result;
      result += character === '\\' ? this.#escape() : character;
    }
  }

  #escape(): string {
    const character = this.text[this.#position++];
    if (character === undefined) throw new LooseSyntaxError();
    if (character !== 'u') return escapes.get(character) ?? character;
    const digits = this.text.slice(this.#position, this.#position + 4);
    if (!/^[\da-f]{4}$/i.test(digits)) throw new LooseSyntaxError();
    this.#position += 4;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  #bare(): string {
    const start = this.#position;
    while (/[\w.+-]/.test(this.text[this.#position] ?? '')) this.#position += 1;
    if (this.#position === start) throw new LooseSyntaxError();
    return this.text.slice(start, this.#position);
  }

  /** Skips a comma, if the end does not follow. A trailing comma is accepted. */
  #separator(end: string): void {
    if (this.#skip(',')) return;
    this.#space();
    if (this.text[this.#position] !== end) throw new LooseSyntaxError();
  }

  #expect(character: string): void {
    if (!this.#skip(character)) throw new LooseSyntaxError();
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
