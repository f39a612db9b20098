import type { GenerationEvent } from '../../core/events.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import type { Tool } from '../messages.ts';

/** What a reply is parsed into: text, and calls whose pieces come between their start and end. */
export type ToolEvent = Extract<GenerationEvent, { type: 'text-delta' | 'tool-start' | 'tool-delta' | 'tool-end' }>;

/** Numbers the calls and collects the events of one step. */
export class CallWriter {
  readonly #events: ToolEvent[] = [];
  #calls = 0;
  /** White space that is dropped if a call follows: it only separated the call from the text. */
  #space = '';

  constructor(private readonly newId: () => string) {}

  get calls(): number {
    return this.#calls;
  }

  text(text: string): void {
    const whole = this.#space + text;
    const visible = whole.trimEnd();
    this.#space = whole.slice(visible.length);
    if (visible !== '') this.#events.push({ type: 'text-delta', text: visible });
  }

  start(name: string): void {
    this.#space = '';
    this.#events.push({ type: 'tool-start', index: this.#calls, id: this.newId(), name });
    this.#calls += 1;
  }

  json(json: string): void {
    if (json !== '') this.#events.push({ type: 'tool-delta', index: this.#calls - 1, json });
  }

  end(): void {
    this.#events.push({ type: 'tool-end', index: this.#calls - 1 });
  }

  whole({ name, json }: WholeCall): void {
    this.start(name);
    this.json(json);
    this.end();
  }

  /** White space after the last call is dropped. */
  finish(): void {
    if (this.#calls === 0 && this.#space !== '') this.#events.push({ type: 'text-delta', text: this.#space });
    this.#space = '';
  }

  take(): readonly ToolEvent[] {
    return this.#events.splice(0);
  }
}

/** Parses the content of one block of calls. */
export interface Body {
  /** Inside arguments the end tag of the block is part of a string. */
  readonly insideArguments: boolean;
  push(text: string): void;
  /** For text inside arguments: returns what comes after them. */
  pushArguments(text: string): string;
  /** At the end of the block, or where it was `cut` off; `leftover` is what did not become a call. */
  end(cut: boolean): { readonly calls: number; readonly leftover: string };
}

export interface WholeCall {
  readonly name: string;
  readonly json: string;
}

export interface JsonShape {
  /** Matches from the start of a block, or the end of the last call, to just before the `{` of the arguments. */
  readonly header: RegExp;
  /** Names that count; any name if omitted. */
  readonly knownNames?: ReadonlySet<string>;
  /** Parses a complete block that could not be reported as it came. */
  readonly whole?: (body: string) => readonly WholeCall[];
  /** The complete header for one that was cut off behind the name, for formats that lack more than `{` there. */
  readonly completed?: (header: string) => string;
  /** Parses the beginning of a body that only becomes JSON when it is complete; its arguments are cut off too. */
  readonly begun?: (body: string) => WholeCall | undefined;
}

/** What may come between and after calls without meaning. */
const punctuation = /^(?:[\s,;[\]}`]|"(?:id|type|tool_call_id)"\s*:\s*"[^"]*")*$/;

/** A name and then a JSON object. */
export class JsonBody implements Body {
  #scan: JsonScan | undefined;
  #buffer = '';
  #calls = 0;

  constructor(
    private readonly writer: CallWriter,
    private readonly shape: JsonShape,
  ) {}

  get insideArguments(): boolean {
    return this.#scan !== undefined;
  }

  /** Whether this text begins with a call of a known tool. */
  startsCall(text: string): boolean {
    return this.#isKnown(this.shape.header.exec(text)?.[1]);
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
    this.writer.json(text.slice(0, length));
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
    const whole = (this.shape.whole?.(left) ?? []).filter(({ name }) => this.#isKnown(name));
    for (const call of whole) this.writer.whole(call);
    return { calls: whole.length, leftover: whole.length > 0 ? '' : left };
  }

  #readHeader(): string {
    const match = this.shape.header.exec(this.#buffer);
    const name = match?.[1];
    if (!match || !this.#isKnown(name)) return '';
    const rest = this.#buffer.slice(match[0].length);
    this.#buffer = '';
    this.#scan = new JsonScan();
    this.#calls += 1;
    this.writer.start(name);
    return rest;
  }

  /** A call whose name is complete, without arguments. */
  #endsInHeader(left: string): boolean {
    const begun = this.shape.begun?.(left);
    const header = this.shape.completed?.(left) ?? `${left}{`;
    const name = begun?.name ?? this.shape.header.exec(header)?.[1];
    if (!this.#isKnown(name)) return false;
    this.#calls += 1;
    this.writer.whole({ name, json: begun?.json ?? '' });
    return true;
  }

  #closeCall(): void {
    this.#scan = undefined;
    this.writer.end();
  }

  #isKnown(name: string | undefined): name is string {
    return name !== undefined && (this.shape.knownNames?.has(name) ?? true);
  }
}

const closers: Readonly<Record<string, string>> = { '{': '}', '[': ']' };
const plainCharacters = new Set(' \t\r\n:,.+-0123456789eEtrufalsn');

/** Follows one JSON object through pieces of text, to find where it ends or where it stops being JSON. */
export class JsonScan {
  readonly #open: string[] = [];
  #inString = false;
  #escaped = false;

  /** How much of the text belongs to the object, and whether the object ends there. */
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

export const jsonCalls: JsonShape = { header, whole: wholeCalls, completed: completedCall };

/** Behind the name there may be part of the next key. */
export function completedCall(cut: string): string {
  return `${cut.replace(/,\s*(?:"[a-z]*"?\s*:?\s*)?$/, '')}, "arguments": {`;
}

/** For arguments that come before the name, or that are a string of JSON. */
function wholeCalls(body: string): readonly WholeCall[] {
  const value = tryParseJson(body.replace(/\s*```\s*$/, ''));
  const calls = (Array.isArray(value) ? value : [value]).map(callOf);
  return calls.every((call) => call !== undefined) ? calls : [];
}

function callOf(value: unknown): WholeCall | undefined {
  if (!isObject(value)) return undefined;
  const inner = isObject(value.function) ? value.function : value;
  const name = inner.name ?? inner.tool_name ?? value.function;
  const args = inner.arguments ?? inner.parameters ?? {};
  if (typeof name !== 'string' || name === '') return undefined;
  if (typeof args !== 'string') return { name, json: JSON.stringify(args) };
  return isObject(tryParseJson(args)) ? { name, json: args } : undefined;
}

export interface TaggedShape {
  /** Matches from the start of the block through the name. */
  readonly header: RegExp;
  /** Matches one complete parameter: its name and its value. */
  readonly parameter: RegExp;
  /** Matches a parameter whose end is missing. */
  readonly begun: RegExp;
  /** Whether models put line breaks around values. */
  readonly inLines: boolean;
}

/** A name and then one tag per parameter; each parameter is reported as JSON once it is complete. */
export class TaggedBody implements Body {
  readonly insideArguments = false;
  #buffer = '';
  #name: string | undefined;
  #parameters = 0;

  constructor(
    private readonly writer: CallWriter,
    private readonly shape: TaggedShape,
    private readonly tools: readonly Tool[],
  ) {}

  push(text: string): void {
    this.#buffer += text;
    if (this.#name === undefined && !this.#readName()) return;
    // A parameter can only become complete with the end of a tag, so that long values are not searched repeatedly.
    if (!text.includes('>')) return;
    for (let match = this.shape.parameter.exec(this.#buffer); match; match = this.shape.parameter.exec(this.#buffer)) {
      const [whole, key = '', value = ''] = match;
      this.#buffer = this.#buffer.slice(whole.length);
      this.writer.json(`${this.#opening(key)}${valueJson(this.#trimmed(value), this.#typeOf(key))}`);
    }
  }

  pushArguments(text: string): string {
    return text;
  }

  end(cut: boolean): { calls: number; leftover: string } {
    // A call without parameters may have only the end tag behind its name.
    if (this.#name === undefined && !cut) this.push('\n');
    if (this.#name !== undefined && cut) return this.#cutOff();
    if (this.#name === undefined) return { calls: 0, leftover: cut ? this.#buffer : this.#buffer.slice(0, -1) };
    this.writer.json(this.#parameters === 0 ? '{}' : '}');
    this.writer.end();
    return { calls: 1, leftover: this.#buffer.trim() };
  }

  /** Reports the beginning of a parameter; neither it nor the arguments are closed. */
  #cutOff(): { calls: number; leftover: string } {
    const [, key, value = ''] = this.shape.begun.exec(this.#buffer) ?? [];
    if (key !== undefined) {
      const begun = this.#trimmed(value.replace(/<[^<>]*$/, ''));
      const type = this.#typeOf(key);
      const bare = type !== undefined && type !== 'string';
      this.writer.json(`${this.#opening(key)}${bare ? begun.trim() : JSON.stringify(begun).slice(0, -1)}`);
    }
    this.writer.end();
    return { calls: 1, leftover: '' };
  }

  #readName(): boolean {
    const match = this.shape.header.exec(this.#buffer);
    if (match?.[1] === undefined) return false;
    this.#name = match[1];
    this.#buffer = this.#buffer.slice(match[0].length);
    this.writer.start(this.#name);
    return true;
  }

  #trimmed(value: string): string {
    return this.shape.inLines ? value.replace(/^\n/, '').replace(/\n$/, '') : value;
  }

  #opening(key: string): string {
    const opening = this.#parameters === 0 ? '{' : ',';
    this.#parameters += 1;
    return `${opening}${JSON.stringify(key)}:`;
  }

  #typeOf(key: string): unknown {
    const tool = this.tools.find(({ name }) => name === this.#name);
    const properties = tool?.parameters.properties as Record<string, { type?: unknown }> | undefined;
    return properties?.[key]?.type;
  }
}

/** Tags have no types: a value is JSON if it parses as JSON, unless the tool declares a string. */
function valueJson(value: string, type: unknown): string {
  const parsed = type === 'string' ? undefined : tryParseJson(value);
  return JSON.stringify(parsed === undefined ? value : parsed);
}
