import type { GenerationEvent } from '../../core/events.ts';
import { PhraseFinder, type PhraseTree, phraseTree } from '../../patterns/phrase-finder.ts';
import type { Tool } from '../messages.ts';

/** What a reply turns into: text, and calls whose pieces lie between their start and end. */
export type ToolEvent = Extract<GenerationEvent, { type: 'text-delta' | 'tool-start' | 'tool-delta' | 'tool-end' }>;

export interface ToolReader {
  push(text: string): readonly ToolEvent[];
  /** At the end of the reply. What was `cut` off by a limit and had become a call by then ends in the middle of it. */
  finish(cut: boolean): readonly ToolEvent[];
}

export interface ToolReaderOptions {
  readonly tools: readonly Tool[];
  readonly newId: () => string;
}

/**
 * One manner of writing tool calls. Readers never throw. A call is reported as soon as its name and the beginning of its
 * arguments are certain, and its arguments as they come; what looks like a call and never becomes one is text.
 */
export interface ToolFormat {
  readonly name: string;
  /** Whether a model with this chat template writes its calls like this. */
  detect(template: string): boolean;
  create(options: ToolReaderOptions): ToolReader;
}

/** Numbers the calls and collects the events of one step. */
export class CallWriter {
  readonly #newId: () => string;
  #events: ToolEvent[] = [];
  #calls = 0;
  /** White space that is dropped when a call follows: it only set the call apart from the text. */
  #space = '';

  constructor(newId: () => string) {
    this.#newId = newId;
  }

  get calls(): number {
    return this.#calls;
  }

  text(text: string): void {
    const whole = this.#space + text;
    const shown = whole.trimEnd();
    this.#space = whole.slice(shown.length);
    if (shown !== '') this.#events.push({ type: 'text-delta', text: shown });
  }

  start(name: string): void {
    this.#space = '';
    this.#events.push({ type: 'tool-start', index: this.#calls, id: this.#newId(), name });
    this.#calls += 1;
  }

  json(json: string): void {
    if (json !== '') this.#events.push({ type: 'tool-delta', index: this.#calls - 1, json });
  }

  end(): void {
    this.#events.push({ type: 'tool-end', index: this.#calls - 1 });
  }

  whole(name: string, json: string): void {
    this.start(name);
    this.json(json);
    this.end();
  }

  /** White space after the last call belongs to nothing. */
  finish(): void {
    if (this.#calls === 0 && this.#space !== '') this.#events.push({ type: 'text-delta', text: this.#space });
    this.#space = '';
  }

  take(): readonly ToolEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }
}

/** Reads what stands inside one block of calls, and reports to a writer. */
export interface Body {
  /** In the middle of arguments, where the end tag of the block would be part of a text. */
  readonly insideArguments: boolean;
  push(text: string): void;
  /** For text inside arguments: gives back what comes after them. */
  pushArguments(text: string): string;
  /** The block is over, or `cut` off in its middle; gives back what did not become a call. */
  end(cut: boolean): { readonly calls: number; readonly leftover: string };
}

export interface BlockTags {
  readonly open: readonly string[];
  /** None where a block ends with the reply. */
  readonly close: readonly string[];
  /** Tags around the blocks that mean nothing by themselves. */
  readonly dropped: readonly string[];
}

interface BlockFormat {
  readonly tags: BlockTags;
  readonly outside: PhraseTree;
  readonly inside: PhraseTree;
  body(writer: CallWriter, options: ToolReaderOptions): Body;
}

export function blockFormat(tags: BlockTags, body: BlockFormat['body']): BlockFormat {
  const outside = phraseTree([...tags.open, ...tags.dropped]);
  return { tags, outside, inside: phraseTree([...tags.open, ...tags.close]), body };
}

interface Block {
  readonly opening: string;
  readonly body: Body;
  readonly finder: PhraseFinder;
}

/** Text with blocks of calls in it. An opening tag inside a block ends it and begins the next. */
export class BlockReader implements ToolReader {
  readonly #format: BlockFormat;
  readonly #options: ToolReaderOptions;
  readonly #writer: CallWriter;
  readonly #outside: PhraseFinder;
  #block: Block | undefined;

  constructor(format: BlockFormat, options: ToolReaderOptions) {
    this.#format = format;
    this.#options = options;
    this.#writer = new CallWriter(options.newId);
    this.#outside = new PhraseFinder(format.outside);
  }

  push(text: string): readonly ToolEvent[] {
    let unread = text;
    while (unread !== '') unread = this.#block ? this.#readInside(this.#block, unread) : this.#readOutside(unread);
    return this.#writer.take();
  }

  finish(cut: boolean): readonly ToolEvent[] {
    if (this.#block) {
      // Half a tag is no part of the calls that it was to end.
      const held = this.#block.finder.flush();
      if (!cut) this.#block.body.push(held);
      this.#closeBlock(this.#block, cut ? held : '', cut);
    } else {
      const held = this.#outside.flush();
      if (!cut || this.#writer.calls === 0) this.#writer.text(held);
    }
    this.#writer.finish();
    return this.#writer.take();
  }

  #readOutside(text: string): string {
    const { text: plain, match } = this.#outside.push(text);
    this.#writer.text(plain);
    if (match && this.#format.tags.open.includes(match.phrase)) this.#openBlock(match.phrase);
    return match?.rest ?? '';
  }

  #readInside(block: Block, text: string): string {
    const { body, finder } = block;
    if (body.insideArguments) return body.pushArguments(text);
    const { text: plain, match } = finder.push(text);
    body.push(plain);
    if (body.insideArguments) {
      // What looks like a tag, or the beginning of one, is part of the arguments.
      return match ? match.phrase + match.rest : body.pushArguments(finder.flush());
    }
    if (match) {
      const reopened = this.#format.tags.open.includes(match.phrase);
      this.#closeBlock(block, reopened ? '' : match.phrase);
      if (reopened) this.#openBlock(match.phrase);
    }
    return match?.rest ?? '';
  }

  #openBlock(opening: string): void {
    const body = this.#format.body(this.#writer, this.#options);
    this.#block = { opening, body, finder: new PhraseFinder(this.#format.inside) };
  }

  #closeBlock({ opening, body }: Block, closing: string, cut = false): void {
    this.#block = undefined;
    const { calls, leftover } = body.end(cut);
    if (calls === 0) this.#writer.text(opening + leftover + closing);
    else if (leftover !== '') this.#writer.text(leftover);
  }
}

/** By then a call has shown its name; a longer beginning is an answer that happens to be JSON. */
const longestHeader = 400;

/**
 * A reply that is nothing but calls in JSON, after one of some openings or none. Only names of real tools count, because
 * an answer may be JSON too.
 */
export class BareReader implements ToolReader {
  readonly #openings: readonly string[];
  readonly #writer: CallWriter;
  readonly #body: JsonBody;
  #state: 'start' | 'calls' | 'text' = 'start';
  #held = '';

  constructor(openings: readonly string[], { tools, newId }: ToolReaderOptions) {
    this.#openings = openings;
    this.#writer = new CallWriter(newId);
    const knownNames = new Set(tools.map(({ name }) => name));
    this.#body = new JsonBody(this.#writer, { ...jsonCalls, knownNames });
  }

  push(text: string): readonly ToolEvent[] {
    if (this.#state === 'text') this.#writer.text(text);
    else if (this.#state === 'calls') this.#body.push(text);
    else this.#begin(text);
    return this.#writer.take();
  }

  finish(cut: boolean): readonly ToolEvent[] {
    if (this.#state === 'start') this.#body.push(this.#withoutOpening(this.#held));
    if (this.#state !== 'text') {
      const { calls, leftover } = this.#body.end(cut);
      this.#writer.text(calls > 0 ? leftover : this.#held);
    }
    this.#writer.finish();
    return this.#writer.take();
  }

  #begin(text: string): void {
    this.#held += text;
    if (this.#mayBecomeOpening()) return;
    const decided = this.#held.length >= longestHeader;
    const beginning = this.#withoutOpening(this.#held.slice(0, longestHeader));
    if (this.#body.startsCall(beginning)) {
      this.#state = 'calls';
      this.#body.push(this.#withoutOpening(this.#held));
    } else if (decided || !/^\s*(?:[[{]|$)/.test(beginning)) {
      this.#state = 'text';
      this.#writer.text(this.#held);
    }
  }

  #mayBecomeOpening(): boolean {
    const content = this.#held.trimStart();
    return this.#openings.some((opening) => content.length < opening.length && opening.startsWith(content));
  }

  #withoutOpening(text: string): string {
    const content = text.trimStart();
    const opening = this.#openings.find((candidate) => content.startsWith(candidate)) ?? '';
    return content.slice(opening.length);
  }
}

interface JsonBodyShape {
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
