import type { Body, CallWriter } from './format.ts';

export interface JsonBodyShape {
  /** Matches from the start of a block, or the end of the last call, to just before the `{` of the arguments. */
  readonly header: RegExp;
  /** Names that count; any name where it is left out. */
  readonly knownNames?: ReadonlySet<string>;
  /** Reads a block whose parts came in an order that could not be reported as they came. */
  readonly whole?: (body: string) => readonly WholeCall[];
  /** What a header that was cut off behind the name would have become, for formats in which more than `{` may be missing. */
  readonly completed?: (header: string) => string;
  /** Reads the beginning of a body that is no JSON before all of it has been rewritten; its arguments are cut off too. */
  readonly begun?: (body: string) => WholeCall | undefined;
}

export interface WholeCall {
  readonly name: string;
  readonly json: string;
}

/** What may stand between and after calls without meaning anything. */
const punctuation = /^(?:[\s,;[\]}`]|"(?:id|type|tool_call_id)"\s*:\s*"[^"]*")*$/;

/** A name and then a JSON object, whatever stands around them. */
export class JsonBody implements Body {
  readonly #writer: CallWriter;
  readonly #shape: JsonBodyShape;
  #scan: JsonScan | undefined;
  #buffer = '';
  #calls = 0;

  constructor(writer: CallWriter, shape: JsonBodyShape) {
    this.#writer = writer;
    this.#shape = shape;
  }

  get insideArguments(): boolean {
    return this.#scan !== undefined;
  }

  /** Whether this text begins with a call whose name counts. */
  startsCall(text: string): boolean {
    const name = this.#shape.header.exec(text)?.[1];
    return name !== undefined && this.#isKnown(name);
  }

  push(text: string): void {
    let unread = text;
    do {
      if (this.insideArguments) unread = this.pushArguments(unread);
      this.#buffer += unread;
      unread = this.#readHeader();
    } while (this.insideArguments && unread !== '');
  }

  pushArguments(text: string): string {
    if (this.#scan === undefined) return text;
    const { length, state } = this.#scan.push(text);
    this.#writer.json(text.slice(0, length));
    if (state === 'more') return '';
    this.#closeCall();
    return text.slice(length);
  }

  end(cut: boolean): { calls: number; leftover: string } {
    if (this.insideArguments) this.#closeCall();
    const left = this.#buffer;
    this.#buffer = '';
    if (cut && this.#endsInHeader(left)) return { calls: this.#calls, leftover: '' };
    if (this.#calls > 0) return { calls: this.#calls, leftover: punctuation.test(left) ? '' : left };
    const whole = (this.#shape.whole?.(left) ?? []).filter(({ name }) => this.#isKnown(name));
    for (const { name, json } of whole) this.#writer.whole(name, json);
    return whole.length > 0 ? { calls: whole.length, leftover: '' } : { calls: 0, leftover: left };
  }

  #readHeader(): string {
    const found = this.#shape.header.exec(this.#buffer);
    const name = found?.[1];
    if (!found || name === undefined || !this.#isKnown(name)) return '';
    const rest = this.#buffer.slice(found[0].length);
    this.#buffer = '';
    this.#scan = new JsonScan();
    this.#calls += 1;
    this.#writer.start(name);
    return rest;
  }

  /** A call whose name is known, and of its arguments nothing. */
  #endsInHeader(left: string): boolean {
    const begun = this.#shape.begun?.(left);
    const name = begun?.name ?? this.#shape.header.exec(this.#completed(left))?.[1];
    if (name === undefined || !this.#isKnown(name)) return false;
    this.#calls += 1;
    this.#writer.whole(name, begun?.json ?? '');
    return true;
  }

  #completed(left: string): string {
    return this.#shape.completed?.(left) ?? `${left}{`;
  }

  #closeCall(): void {
    this.#scan = undefined;
    this.#writer.end();
  }

  #isKnown(name: string): boolean {
    return this.#shape.knownNames?.has(name) ?? true;
  }
}

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

/** `{"name": …, "arguments": {`, alone or in a list, with the other names that models use for the two. */
const header =
  /^(?:[\s,;[\]}`]|"(?:id|type|tool_call_id)"\s*:\s*"[^"]*")*\{\s*(?:"(?:id|type|tool_call_id)"\s*:\s*"[^"]*"\s*,\s*)*(?:"function"\s*:\s*\{\s*)?"(?:name|tool_name)"\s*:\s*"([^"\\]+)"\s*,\s*"(?:arguments|parameters)"\s*:\s*(?=\{)/;

export const jsonCalls: JsonBodyShape = { header, whole: wholeCalls, completed: completedCall };

/** Behind the name there may be part of the next key. */
export function completedCall(cut: string): string {
  return `${cut.replace(/,\s*(?:"[a-z]*"?\s*:?\s*)?$/, '')}, "arguments": {`;
}

/** For arguments that stand before the name, or that are themselves a text of JSON. */
function wholeCalls(body: string): readonly WholeCall[] {
  let value: unknown;
  try {
    value = JSON.parse(body.replace(/\s*```\s*$/, ''));
  } catch {
    return [];
  }
  const calls = (Array.isArray(value) ? value : [value]).map(callOf);
  return calls.every((call) => call !== undefined) ? calls : [];
}

function callOf(value: unknown): WholeCall | undefined {
  if (!isObject(value)) return undefined;
  const inner = isObject(value.function) ? value.function : value;
  const name = inner.name ?? inner.tool_name ?? value.function;
  const given = inner.arguments ?? inner.parameters ?? {};
  if (typeof name !== 'string' || name === '') return undefined;
  const json = typeof given === 'string' ? objectText(given) : JSON.stringify(given);
  return json === undefined ? undefined : { name, json };
}

function objectText(text: string): string | undefined {
  try {
    return isObject(JSON.parse(text)) ? text : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
