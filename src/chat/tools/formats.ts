import { tryParseJson } from '../../core/json.ts';
import { PhraseFinder, type PhraseTree, phraseTree } from '../../patterns/phrase-finder.ts';
import type { Tool } from '../messages.ts';
import {
  type Body,
  CallWriter,
  completedCall,
  JsonBody,
  type JsonShape,
  jsonCalls,
  TaggedBody,
  type TaggedShape,
  type ToolEvent,
  type WholeCall,
} from './bodies.ts';

export interface ToolReader {
  push(text: string): readonly ToolEvent[];
  /** At the end of the reply. A call that was `cut` off by a limit ends in the middle of its arguments. */
  finish(cut: boolean): readonly ToolEvent[];
}

interface ToolReaderOptions {
  readonly tools: readonly Tool[];
  readonly newId: () => string;
}

/**
 * One syntax of tool calls. Readers never throw. A call is reported as soon as its name and the beginning of its arguments
 * are certain, and its arguments as they come; what looks like a call and never becomes one is text.
 */
export interface ToolFormat {
  readonly name: string;
  /** Whether a model with this chat template writes its calls in this format. */
  detect(template: string): boolean;
  create(options: ToolReaderOptions): ToolReader;
}

interface BlockFormat {
  readonly open: readonly string[];
  readonly outside: PhraseTree;
  readonly inside: PhraseTree;
  readonly shape: JsonShape | TaggedShape;
}

interface Block {
  readonly opening: string;
  readonly body: Body;
  readonly finder: PhraseFinder;
}

/** Text with blocks of calls. An opening tag inside a block ends it and begins the next. */
class BlockReader implements ToolReader {
  readonly #writer: CallWriter;
  readonly #outside: PhraseFinder;
  #block: Block | undefined;

  constructor(
    private readonly format: BlockFormat,
    private readonly options: ToolReaderOptions,
  ) {
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
      // An incomplete closing tag is not part of the calls.
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
    if (match && this.format.open.includes(match.phrase)) this.#openBlock(match.phrase);
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
      const reopened = this.format.open.includes(match.phrase);
      this.#closeBlock(block, reopened ? '' : match.phrase);
      if (reopened) this.#openBlock(match.phrase);
    }
    return match?.rest ?? '';
  }

  #openBlock(opening: string): void {
    const { shape, inside } = this.format;
    const isTagged = 'parameter' in shape;
    const body = isTagged ? new TaggedBody(this.#writer, shape, this.options.tools) : new JsonBody(this.#writer, shape);
    this.#block = { opening, body, finder: new PhraseFinder(inside) };
  }

  #closeBlock({ opening, body }: Block, closing: string, cut = false): void {
    this.#block = undefined;
    const { calls, leftover } = body.end(cut);
    if (calls === 0) this.#writer.text(opening + leftover + closing);
    else if (leftover !== '') this.#writer.text(leftover);
  }
}

/** By then a call has shown its name; a longer beginning is an answer that happens to be JSON. */
const maxHeaderLength = 400;

/** A reply that consists of calls in JSON, after an optional opening. An answer may be JSON too, so only known tools count. */
class BareReader implements ToolReader {
  readonly #writer: CallWriter;
  readonly #body: JsonBody;
  #state: 'start' | 'calls' | 'text' = 'start';
  #held = '';

  constructor(
    private readonly openings: readonly string[],
    { tools, newId }: ToolReaderOptions,
  ) {
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
    const content = this.#held.trimStart();
    if (this.openings.some((opening) => content.length < opening.length && opening.startsWith(content))) return;
    const decided = this.#held.length >= maxHeaderLength;
    const beginning = this.#withoutOpening(this.#held.slice(0, maxHeaderLength));
    // Between calls there may be other marks, but a reply that begins with them is text from its first piece on.
    const mayBeCall = /^\s*(?:[[{]|$)/.test(beginning);
    if (mayBeCall && this.#body.startsCall(beginning)) {
      this.#state = 'calls';
      this.#body.push(this.#withoutOpening(this.#held));
    } else if (decided || !mayBeCall) {
      this.#state = 'text';
      this.#writer.text(this.#held);
    }
  }

  #withoutOpening(text: string): string {
    const content = text.trimStart();
    const opening = this.openings.find((candidate) => content.startsWith(candidate)) ?? '';
    return content.slice(opening.length);
  }
}

interface BlockTags {
  readonly open: readonly string[];
  /** None if a block ends with the reply. */
  readonly close?: readonly string[];
  /** Tags around the blocks that mean nothing by themselves. */
  readonly dropped?: readonly string[];
  /** Templates of this format contain all of these; by default the opening tags. */
  readonly marks?: readonly string[];
}

/** Calls in blocks between tags. */
function blocks(name: string, tags: BlockTags, shape: BlockFormat['shape']): ToolFormat {
  const { open, close = [], dropped = [], marks = open } = tags;
  const format = { open, outside: phraseTree([...open, ...dropped]), inside: phraseTree([...open, ...close]), shape };
  return {
    name,
    detect: (template) => marks.every((mark) => template.includes(mark)),
    create: (options) => new BlockReader(format, options),
  };
}

/** `opening` matches up to the value of a parameter; its first group is the name. */
function tagged(header: RegExp, opening: RegExp, closing: string, inLines = false): TaggedShape {
  const parameter = new RegExp(`${opening.source}([\\s\\S]*?)${closing}`);
  return { header, parameter, begun: new RegExp(`${opening.source}([\\s\\S]*)$`), inLines };
}

const gemmaQuote = '<|"|>';

function readGemmaCall(body: string): readonly WholeCall[] {
  const [, name, args] = /^\s*call:\s*([\w.-]+)\s*(\{[\s\S]*\})\s*$/.exec(body) ?? [];
  if (name === undefined || args === undefined) return [];
  const parsed = tryParseJson(gemmaJson(args));
  return parsed === undefined ? [] : [{ name, json: JSON.stringify(parsed) }];
}

/** For a call that was cut off: its name, and its arguments as far as they go. */
function readGemmaBeginning(body: string): WholeCall | undefined {
  const [, name, rest] = /^\s*call:\s*([\w.-]+)\s*(\{[\s\S]*)$/.exec(body) ?? [];
  if (name === undefined || rest === undefined) return undefined;
  const args = rest.replace(/<(?:\|(?:"\|?)?)?$/, '');
  const open = args.split(gemmaQuote).length % 2 === 0;
  const json = gemmaJson(args);
  return { name, json: open ? json.slice(0, -1) : json };
}

/** Strings are between quote marks, so every other part contains none and its keys can be quoted. */
function gemmaJson(object: string): string {
  const quoteKeys = (part: string) => part.replace(/([{,]\s*)([A-Za-z_][\w.-]*)(\s*:)/g, '$1"$2"$3');
  const parts = object.split(gemmaQuote);
  return parts.map((part, index) => (index % 2 === 1 ? JSON.stringify(part) : quoteKeys(part))).join('');
}

/** For templates without tool calls: a reply that is a call in JSON, with or without a fence around it. */
const generic: ToolFormat = {
  name: 'generic',
  detect: () => true,
  create: (options) => new BareReader(['```json\n', '```\n'], options),
};

/** Ordered from specific to general, because several formats share tags; the last one accepts any template. */
export const toolFormats: readonly ToolFormat[] = [
  // `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`
  blocks(
    'kimi',
    {
      open: ['<|tool_call_begin|>'],
      close: ['<|tool_call_end|>'],
      dropped: ['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'],
    },
    {
      header: /^\s*(?:functions\.)?([^\s:<]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*(?=\{)/,
      // The number behind a name shows that it is complete.
      completed: (cut) => `${cut.replace(/^(\s*[^\s:<]+:\d+)(?:<[\s\S]*)?$/, '$1<|tool_call_argument_begin|>')}{`,
    },
  ),
  // `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, a fence with the arguments, `<｜tool▁call▁end｜>`
  blocks(
    'deepseek',
    {
      marks: ['<｜tool▁call'],
      open: ['<｜tool▁call▁begin｜>'],
      close: ['<｜tool▁call▁end｜>'],
      dropped: ['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>'],
    },
    {
      // V3 and R1 write a type before the name and a fence around the arguments, V3.1 neither.
      header: /^\s*(?:function<｜tool▁sep｜>)?\s*([^\s<`]+)(?:<｜tool▁sep｜>|\s*```json)\s*(?=\{)/,
      // The type alone is not a name.
      completed: (cut) => (/^\s*function<｜tool▁sep｜>\s*$/.test(cut) ? cut : `${cut}{`),
    },
  ),
  // MiniMax M2: `<minimax:tool_call><invoke name="…"><parameter name="…">value</parameter></invoke></minimax:tool_call>`
  blocks(
    'minimax',
    {
      marks: ['<minimax:tool_call>'],
      open: ['<invoke name='],
      close: ['</invoke>'],
      dropped: ['<minimax:tool_call>', '</minimax:tool_call>'],
    },
    tagged(/^\s*"?([^\s<>"]+)"?\s*>/, /^\s*<parameter name="?([^">]+)"?\s*>/, '</parameter>'),
  ),
  // Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>,other:1}<tool_call|>`. Only a complete call can be converted to JSON,
  // so that the header never matches.
  blocks(
    'gemma',
    { open: ['<|tool_call>'], close: ['<tool_call|>'] },
    { header: /(?!)/, whole: readGemmaCall, begun: readGemmaBeginning },
  ),
  // GLM 4.5 and later: `<tool_call>name`, then `<arg_key>…</arg_key><arg_value>…</arg_value>` per argument
  blocks(
    'glm',
    { marks: ['<arg_key>'], open: ['<tool_call>'], close: ['</tool_call>'] },
    tagged(
      /^\s*([\w.:-]+)\s*(?:\n|(?=<arg_key>))/,
      /^\s*<arg_key>\s*([\s\S]*?)\s*<\/arg_key>\s*<arg_value>/,
      '</arg_value>',
    ),
  ),
  // Qwen3-Coder and Seed-OSS: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`
  blocks(
    'qwen-coder',
    {
      marks: ['<function=', '<parameter='],
      open: ['<function='],
      close: ['</function>'],
      dropped: ['<tool_call>', '</tool_call>', '<seed:tool_call>', '</seed:tool_call>'],
    },
    tagged(/^\s*([^\s<>]+)>/, /^\s*<parameter=([^>]+)>/, '</parameter>', true),
  ),
  // Functionary 3.1 and Llama fine-tunes: `<function=name>{…}</function>`
  blocks('functionary', { open: ['<function='], close: ['</function>'] }, { header: /^\s*([\w.-]+)>\s*(?=\{)/ }),
  // Command-R7B and Command-A: `<|START_ACTION|>[{"tool_call_id": …, "tool_name": …, "parameters": {…}}]<|END_ACTION|>`
  blocks(
    'command-r',
    { open: ['<|START_ACTION|>'], close: ['<|END_ACTION|>'], dropped: ['<|START_RESPONSE|>', '<|END_RESPONSE|>'] },
    jsonCalls,
  ),
  // `[TOOL_CALLS]name[ARGS]{…}`, and `[TOOL_CALLS][{"name": …, "arguments": {…}, "id": …}]` before Tekken v11
  blocks(
    'mistral',
    { open: ['[TOOL_CALLS]'] },
    {
      ...jsonCalls,
      header: new RegExp(
        `${String.raw`^\s*([\w.-]+)(?:\[CALL_ID\][^[]*)?(?:\[ARGS\])?\s*(?=\{)`}|${jsonCalls.header.source}`,
      ),
      // In plain text the tag behind a name shows that it is complete.
      completed: (cut) => (/\[ARGS\]\s*$/.test(cut) ? `${cut}{` : completedCall(cut)),
    },
  ),
  // Granite 3: `<|tool_call|>[{"name": …, "arguments": {…}}, …]` to the end of the reply
  blocks('granite', { open: ['<|tool_call|>'] }, jsonCalls),
  // Hermes, Qwen 2.5 and 3, Granite 4 and many others: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`
  blocks('hermes', { open: ['<tool_call>'], close: ['</tool_call>'] }, jsonCalls),
  // gpt-oss: `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`
  blocks(
    'harmony',
    {
      marks: ['<|channel|>', '<|start|>'],
      open: ['<|channel|>commentary to=functions.', '<|start|>assistant to=functions.', ' to=functions.'],
      close: ['<|call|>', '<|end|>'],
      dropped: ['<|start|>assistant', '<|channel|>commentary<|message|>', '<|channel|>final<|message|>', '<|end|>'],
    },
    {
      header: /^([\w.-]+)(?![\w.-])[^{]*?<\|message\|>\s*(?=\{)/,
      // A name is complete once anything follows it.
      completed: (cut) => cut.replace(/^([\w.-]+)[^\w.-][\s\S]*$/, '$1<|message|>{'),
    },
  ),
  // Llama 3.1 and later: the whole reply is `{"name": …, "parameters": {…}}`, sometimes after `<|python_tag|>`
  {
    name: 'llama',
    detect: (template) => template.includes('<|python_tag|>') || template.includes('<|start_header_id|>ipython'),
    create: (options) => new BareReader(['<|python_tag|>'], options),
  },
  generic,
];

export function toolFormatOf(template = ''): ToolFormat {
  return toolFormats.find((format) => format.detect(template)) ?? generic;
}
