import type { Tool } from '../messages.ts';
import type { Body, CallWriter } from './format.ts';

export interface TaggedBodyShape {
  /** Matches from the start of the block through the name. */
  readonly header: RegExp;
  /** Matches one whole parameter: its name, and its value. */
  readonly parameter: RegExp;
  /** Matches a parameter of which the end is missing, in the same way. */
  readonly begun: RegExp;
  /** What models put around a value for looks. */
  readonly trimValue: (value: string) => string;
}

/** A name and then one tag per parameter; each parameter is reported as JSON once it is complete. */
export class TaggedBody implements Body {
  readonly insideArguments = false;
  readonly #writer: CallWriter;
  readonly #shape: TaggedBodyShape;
  readonly #tools: readonly Tool[];
  #buffer = '';
  #name: string | undefined;
  #parameters = 0;

  constructor(writer: CallWriter, shape: TaggedBodyShape, tools: readonly Tool[]) {
    this.#writer = writer;
    this.#shape = shape;
    this.#tools = tools;
  }

  push(text: string): void {
    this.#buffer += text;
    if (this.#name === undefined && !this.#readName()) return;
    // A parameter can only become complete with the end of a tag; long values are not searched again and again.
    if (!text.includes('>')) return;
    for (;;) {
      const found = this.#shape.parameter.exec(this.#buffer);
      if (!found) return;
      this.#buffer = this.#buffer.slice(found[0].length);
      this.#writeParameter(found[1] ?? '', this.#shape.trimValue(found[2] ?? ''));
    }
  }

  pushArguments(text: string): string {
    return text;
  }

  end(cut: boolean): { calls: number; leftover: string } {
    // A call without parameters may have nothing behind its name but the end tag.
    if (this.#name === undefined && !cut) this.push('\n');
    if (this.#name !== undefined && cut) return this.#cutOff();
    if (this.#name === undefined) return { calls: 0, leftover: cut ? this.#buffer : this.#buffer.slice(0, -1) };
    this.#writer.json(this.#parameters === 0 ? '{}' : '}');
    this.#writer.end();
    return { calls: 1, leftover: this.#buffer.trim() };
  }

  /** What there is of a parameter is told, and neither it nor the arguments are closed. */
  #cutOff(): { calls: number; leftover: string } {
    const [, key, value = ''] = this.#shape.begun.exec(this.#buffer) ?? [];
    if (key !== undefined) this.#writeBeginning(key, this.#shape.trimValue(value.replace(/<[^<>]*$/, '')));
    this.#writer.end();
    return { calls: 1, leftover: '' };
  }

  #readName(): boolean {
    const found = this.#shape.header.exec(this.#buffer);
    if (found?.[1] === undefined) return false;
    this.#name = found[1];
    this.#buffer = this.#buffer.slice(found[0].length);
    this.#writer.start(this.#name);
    return true;
  }

  #writeParameter(key: string, value: string): void {
    this.#writer.json(`${this.#opening(key)}${valueJson(value, this.#typeOf(key))}`);
  }

  #writeBeginning(key: string, value: string): void {
    const type = this.#typeOf(key);
    const bare = type !== undefined && type !== 'string';
    this.#writer.json(`${this.#opening(key)}${bare ? value.trim() : JSON.stringify(value).slice(0, -1)}`);
  }

  #opening(key: string): string {
    const opening = this.#parameters === 0 ? '{' : ',';
    this.#parameters += 1;
    return `${opening}${JSON.stringify(key)}:`;
  }

  #typeOf(key: string): unknown {
    const tool = this.#tools.find(({ name }) => name === this.#name);
    const properties = tool?.parameters.properties as Record<string, { type?: unknown }> | undefined;
    return properties?.[key]?.type;
  }
}

/** Tags carry no types: a value is JSON when it reads as JSON, unless the tool declared a text. */
function valueJson(value: string, type: unknown): string {
  if (type === 'string') return JSON.stringify(value);
  try {
    return JSON.stringify(JSON.parse(value));
  } catch {
    return JSON.stringify(value);
  }
}
