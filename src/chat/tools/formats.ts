import {
  BareReader,
  BlockReader,
  blockFormat,
  completedCall,
  JsonBody,
  jsonCalls,
  TaggedBody,
  type TaggedBodyShape,
  type ToolFormat,
  type WholeCall,
} from './format.ts';

type JsonShape = ConstructorParameters<typeof JsonBody>[1];

interface BlockTags {
  readonly open: readonly string[];
  readonly close?: readonly string[];
  readonly dropped?: readonly string[];
}

/** Calls in a block between tags, with their arguments as JSON. */
function jsonBlock(name: string, detect: ToolFormat['detect'], tags: BlockTags, shape: JsonShape): ToolFormat {
  const format = blockFormat({ close: [], dropped: [], ...tags }, (writer) => new JsonBody(writer, shape));
  return { name, detect, create: (options) => new BlockReader(format, options) };
}

/** Calls in a block between tags, with a tag for each argument. */
function taggedBlock(name: string, detect: ToolFormat['detect'], tags: BlockTags, shape: TaggedBodyShape): ToolFormat {
  const format = blockFormat({ close: [], dropped: [], ...tags }, (writer, { tools }) => {
    return new TaggedBody(writer, shape, tools);
  });
  return { name, detect, create: (options) => new BlockReader(format, options) };
}

const containing =
  (...marks: readonly string[]) =>
  (template: string): boolean =>
    marks.every((mark) => template.includes(mark));

/** Hermes, Qwen 2.5 and 3, Granite 4 and many others: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`. */
export const hermes = jsonBlock(
  'hermes',
  containing('<tool_call>'),
  { open: ['<tool_call>'], close: ['</tool_call>'] },
  jsonCalls,
);

/** Llama 3.1 and later: the whole reply is `{"name": …, "parameters": {…}}`, sometimes after `<|python_tag|>`. */
export const llama: ToolFormat = {
  name: 'llama',
  detect: (template) => template.includes('<|python_tag|>') || template.includes('<|start_header_id|>ipython'),
  create: (options) => new BareReader(['<|python_tag|>'], options),
};

/** `[TOOL_CALLS]name[ARGS]{…}`, and `[TOOL_CALLS][{"name": …, "arguments": {…}, "id": …}]` before Tekken v11. */
export const mistral = jsonBlock(
  'mistral',
  containing('[TOOL_CALLS]'),
  { open: ['[TOOL_CALLS]'] },
  {
    ...jsonCalls,
    // The newer form names the tool in plain text, the older one writes a list; both follow the same tag.
    header: new RegExp(
      `${String.raw`^\s*([\w.-]+)(?:\[CALL_ID\][^[]*)?(?:\[ARGS\])?\s*(?=\{)`}|${jsonCalls.header.source}`,
    ),
    // In plain text the tag behind a name tells that it is whole.
    completed: (cut) => (/\[ARGS\]\s*$/.test(cut) ? `${cut}{` : completedCall(cut)),
  },
);

/** Qwen3-Coder and Seed-OSS: `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`. */
const qwenCoder = taggedBlock(
  'qwen-coder',
  containing('<function=', '<parameter='),
  {
    open: ['<function='],
    close: ['</function>'],
    dropped: ['<tool_call>', '</tool_call>', '<seed:tool_call>', '</seed:tool_call>'],
  },
  {
    header: /^\s*([^\s<>]+)>/,
    parameter: /^\s*<parameter=([^>]+)>([\s\S]*?)<\/parameter>/,
    begun: /^\s*<parameter=([^>]+)>([\s\S]*)$/,
    trimValue: (value) => value.replace(/^\n/, '').replace(/\n$/, ''),
  },
);

/** `<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, a fence with the arguments, `<｜tool▁call▁end｜>`. */
export const deepseek = jsonBlock(
  'deepseek',
  containing('<｜tool▁call'),
  {
    open: ['<｜tool▁call▁begin｜>'],
    close: ['<｜tool▁call▁end｜>'],
    dropped: ['<｜tool▁calls▁begin｜>', '<｜tool▁calls▁end｜>'],
  },
  {
    // V3 and R1 write a type before the name and a fence around the arguments, V3.1 neither.
    header: /^\s*(?:function<｜tool▁sep｜>)?\s*([^\s<`]+)(?:<｜tool▁sep｜>|\s*```json)\s*(?=\{)/,
    // The type alone is no name.
    completed: (cut) => (/^\s*function<｜tool▁sep｜>\s*$/.test(cut) ? cut : `${cut}{`),
  },
);

/** Command-R7B and Command-A: `<|START_ACTION|>[{"tool_call_id": …, "tool_name": …, "parameters": {…}}]<|END_ACTION|>`. */
const commandR = jsonBlock(
  'command-r',
  containing('<|START_ACTION|>'),
  { open: ['<|START_ACTION|>'], close: ['<|END_ACTION|>'], dropped: ['<|START_RESPONSE|>', '<|END_RESPONSE|>'] },
  jsonCalls,
);

/** Functionary 3.1 and Llama fine-tunes: `<function=name>{…}</function>`. */
export const functionary = jsonBlock(
  'functionary',
  containing('<function='),
  { open: ['<function='], close: ['</function>'] },
  { header: /^\s*([\w.-]+)>\s*(?=\{)/ },
);

/** Gemma 4: `<|tool_call>call:name{key:<|"|>text<|"|>,other:1}<tool_call|>`. */
export const gemma = jsonBlock(
  'gemma',
  containing('<|tool_call>'),
  { open: ['<|tool_call>'], close: ['<tool_call|>'] },
  // The header never matches: this is not JSON until the whole of it has been rewritten.
  { header: /(?!)/, whole: readGemmaCall, begun: readGemmaBeginning },
);

const gemmaQuote = '<|"|>';

function readGemmaCall(body: string): readonly WholeCall[] {
  const found = /^\s*call:\s*([\w.-]+)\s*(\{[\s\S]*\})\s*$/.exec(body);
  if (found?.[1] === undefined || found[2] === undefined) return [];
  try {
    return [{ name: found[1], json: JSON.stringify(JSON.parse(asJson(found[2]))) }];
  } catch {
    return [];
  }
}

/** Of a call that was cut off: its name, and its arguments as far as they go. */
function readGemmaBeginning(body: string): WholeCall | undefined {
  const found = /^\s*call:\s*([\w.-]+)\s*(\{[\s\S]*)$/.exec(body);
  if (found?.[1] === undefined || found[2] === undefined) return undefined;
  const given = found[2].replace(/<(?:\|(?:"\|?)?)?$/, '');
  const open = given.split(gemmaQuote).length % 2 === 0;
  const json = asJson(given);
  return { name: found[1], json: open ? json.slice(0, -1) : json };
}

/** Texts stand between marks of their own, so every other part is free of them and its keys can be quoted. */
function asJson(object: string): string {
  return object
    .split(gemmaQuote)
    .map((part, index) => (index % 2 === 1 ? JSON.stringify(part) : quoteKeys(part)))
    .join('');
}

function quoteKeys(part: string): string {
  return part.replace(/([{,]\s*)([A-Za-z_][\w.-]*)(\s*:)/g, '$1"$2"$3');
}

/** GLM 4.5 and later: `<tool_call>name`, then `<arg_key>…</arg_key><arg_value>…</arg_value>` per argument. */
export const glm = taggedBlock(
  'glm',
  containing('<arg_key>'),
  { open: ['<tool_call>'], close: ['</tool_call>'] },
  {
    header: /^\s*([\w.:-]+)\s*(?:\n|(?=<arg_key>))/,
    parameter: /^\s*<arg_key>\s*([\s\S]*?)\s*<\/arg_key>\s*<arg_value>([\s\S]*?)<\/arg_value>/,
    begun: /^\s*<arg_key>\s*([\s\S]*?)\s*<\/arg_key>\s*<arg_value>([\s\S]*)$/,
    trimValue: (value) => value,
  },
);

/** Granite 3: `<|tool_call|>[{"name": …, "arguments": {…}}, …]` to the end of the reply. */
export const granite = jsonBlock('granite', containing('<|tool_call|>'), { open: ['<|tool_call|>'] }, jsonCalls);

/** gpt-oss: `<|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`. */
export const harmony = jsonBlock(
  'harmony',
  containing('<|channel|>', '<|start|>'),
  {
    open: ['<|channel|>commentary to=functions.', '<|start|>assistant to=functions.', ' to=functions.'],
    close: ['<|call|>', '<|end|>'],
    dropped: ['<|start|>assistant', '<|channel|>commentary<|message|>', '<|channel|>final<|message|>', '<|end|>'],
  },
  {
    header: /^([\w.-]+)(?![\w.-])[^{]*?<\|message\|>\s*(?=\{)/,
    // A name is whole once anything follows it.
    completed: (cut) => cut.replace(/^([\w.-]+)[^\w.-][\s\S]*$/, '$1<|message|>{'),
  },
);

/** `<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>`. */
export const kimi = jsonBlock(
  'kimi',
  containing('<|tool_call_begin|>'),
  {
    open: ['<|tool_call_begin|>'],
    close: ['<|tool_call_end|>'],
    dropped: ['<|tool_calls_section_begin|>', '<|tool_calls_section_end|>'],
  },
  {
    header: /^\s*(?:functions\.)?([^\s:<]+)(?::\d+)?\s*<\|tool_call_argument_begin\|>\s*(?=\{)/,
    // The number behind a name tells that it is whole.
    completed: (cut) => `${cut.replace(/^(\s*[^\s:<]+:\d+)(?:<[\s\S]*)?$/, '$1<|tool_call_argument_begin|>')}{`,
  },
);

/** MiniMax M2: `<minimax:tool_call><invoke name="…"><parameter name="…">value</parameter></invoke></minimax:tool_call>`. */
export const minimax = taggedBlock(
  'minimax',
  containing('<minimax:tool_call>'),
  { open: ['<invoke name='], close: ['</invoke>'], dropped: ['<minimax:tool_call>', '</minimax:tool_call>'] },
  {
    header: /^\s*"?([^\s<>"]+)"?\s*>/,
    parameter: /^\s*<parameter name="?([^">]+)"?\s*>([\s\S]*?)<\/parameter>/,
    begun: /^\s*<parameter name="?([^">]+)"?\s*>([\s\S]*)$/,
    trimValue: (value) => value,
  },
);

/** For templates that say nothing of calls: a reply that is a call in JSON, with or without a fence around it. */
export const generic: ToolFormat = {
  name: 'generic',
  detect: () => true,
  create: (options) => new BareReader(['```json\n', '```\n'], options),
};

/** Ordered from specific to general, because several formats share tags; the last one accepts any template. */
export const toolFormats: readonly ToolFormat[] = [
  kimi,
  deepseek,
  minimax,
  gemma,
  glm,
  qwenCoder,
  functionary,
  commandR,
  mistral,
  granite,
  hermes,
  harmony,
  llama,
  generic,
];

export function toolFormatOf(template: string | undefined): ToolFormat {
  return toolFormats.find((format) => format.detect(template ?? '')) ?? generic;
}
