import { isObject } from '../../core/json.ts';
import type { GrammarTrigger } from '../../core/request.ts';
import type { EmbeddedSchema } from '../../grammar/convert.ts';
import { blankBody, booleanBody, choice, literal, textUntil } from '../../grammar/gbnf.ts';

type Schema = Readonly<Record<string, unknown>>;

/** The rule of the arguments of one tool, and the rules that it needs. */
interface ArgumentsRule {
  readonly body: string;
  readonly schemas?: Readonly<Record<string, EmbeddedSchema>>;
}

/** How calls are written in one format, as GBNF. */
export interface CallShape {
  /** A call; `args` is the name of the rule of its arguments. */
  readonly call: (name: string, args: string) => string;
  /** Another form of a call, for `reply`. */
  readonly item?: (name: string, args: string) => string;
  /** The calls of a reply; `calls(between)` is one or more of them, `items` the same in the other form. */
  readonly reply: (calls: (between: string) => string, items: (between: string) => string) => string;
  /** Where a free reply has become a call. */
  readonly triggers: readonly GrammarTrigger[];
  /** For arguments that are not JSON; `name` is the name of their rule. */
  readonly arguments?: (parameters: Schema, name: string) => ArgumentsRule;
  /** Rules that the arguments share. */
  readonly rules?: Readonly<Record<string, string>>;
  /** What may come before a forced call, and before an answer instead of one, in formats with special channels. */
  readonly before?: string;
  readonly beforeAnswer?: string;
}

const word = (text: string): GrammarTrigger => ({ type: 'word', text });
const jsonText = (text: string): string => literal(JSON.stringify(text));

interface ParameterTags {
  /** GBNF of a key and its tags. */
  readonly open: (key: string) => string;
  /** GBNF of any key and its tags. */
  readonly openAny: string;
  readonly close: string;
}

/** Arguments as one tag per parameter: in the order of the schema, text as it is, other types as JSON. */
function tagged({ open, openAny, close }: ParameterTags): Pick<CallShape, 'arguments' | 'rules'> {
  const line = '"\\n"?';
  const any = `( ${openAny} parameter-text ${line} )*`;
  return {
    rules: textUntil('parameter-text', close),
    arguments: (parameters, name) => {
      const listed = Object.entries(listedProperties(parameters) ?? {});
      const schemas: Record<string, EmbeddedSchema> = {};
      const required = Array.isArray(parameters.required) ? parameters.required : [];
      const parameterRules = listed.map(([key, property], index) => {
        const texts = enumTexts(property);
        let value = texts ? `${line} ${choice(texts.map(literal))} ${line} ${literal(close)}` : 'parameter-text';
        if (isJsonTyped(property)) {
          const rule = `${name}-${index}`;
          const { $defs, definitions } = parameters;
          schemas[rule] = { schema: { $defs, definitions, ...property }, mode: 'loose' };
          value = `${line} ${rule} ${line} ${literal(close)}`;
        }
        return `( ${open(key)} ${value} ${line} )${required.includes(key) ? '' : '?'}`;
      });
      const free = listed.length === 0 || (parameters.additionalProperties ?? false) !== false;
      return { body: [line, ...parameterRules, ...(free ? [any] : [])].join(' '), schemas };
    },
  };
}

/** The properties of a schema that says nothing else about its names. */
function listedProperties(schema: Schema): Readonly<Record<string, Schema>> | undefined {
  const { properties } = schema;
  const composed = ['$ref', 'allOf', 'anyOf', 'oneOf', 'patternProperties'].some((key) => schema[key] !== undefined);
  if (composed || !isObject(properties) || !Object.values(properties).every(isObject)) return undefined;
  return properties as Record<string, Schema>;
}

function isJsonTyped({ type }: Schema): boolean {
  return typeof type === 'string' && type !== 'string';
}

/** The values of an enumeration of texts. */
function enumTexts({ type, enum: values }: Schema): readonly string[] | undefined {
  if (type !== undefined && type !== 'string') return undefined;
  return Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === 'string')
    ? values
    : undefined;
}

const gemmaQuote = '<|"|>';
const gemmaString = (text: string): string => literal(gemmaQuote + text + gemmaQuote);
const gemmaKey = '[a-zA-Z0-9_.-]+';
const listOf = (item: string): string => `( ${item} ( "," ${item} )* )?`;

/** Gemma's arguments: JSON with bare keys and special quotation marks, in any order. */
function gemmaArguments(parameters: Schema): ArgumentsRule {
  const listed = Object.entries(listedProperties(parameters) ?? {});
  const members = listed.map(([key, property]) => `${literal(`${key}:`)} ${gemmaValue(property)}`);
  const member = members.length > 0 ? choice(members) : `${gemmaKey} ":" gemma-value`;
  return { body: `"{" ${listOf(member)} "}"` };
}

function gemmaValue(property: Schema): string {
  const texts = enumTexts(property);
  if (texts) return choice(texts.map(gemmaString));
  const types: Readonly<Record<string, string>> = {
    string: 'gemma-text',
    number: 'gemma-number',
    integer: 'gemma-number',
    boolean: booleanBody,
  };
  return types[String(property.type)] ?? 'gemma-value';
}

const constrained = '( " <|constrain|>json" | "<|constrain|>json" | " json" )?';
const callTags = (bracket: '<' | '</') =>
  choice(['tool_call>', 'seed:tool_call>'].map((tag) => literal(bracket + tag)));

/** By the names of the formats. */
export const callShapes: Readonly<Record<string, CallShape>> = {
  hermes: {
    call: (name, args) =>
      `${literal(`<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": `)} ${args} "}\\n</tool_call>"`,
    reply: (calls) => calls('"\\n"'),
    triggers: [word('<tool_call>')],
  },
  granite: {
    call: (name, args) => `${literal(`{"name": ${JSON.stringify(name)}, "arguments": `)} ${args} "}"`,
    reply: (calls) => `"<|tool_call|>[" ${calls('", "')} "]"`,
    triggers: [word('<|tool_call|>')],
  },
  llama: {
    call: (name, args) => `${literal(`{"name": ${JSON.stringify(name)}, "parameters": `)} ${args} "}"`,
    reply: (calls) => calls('"; "'),
    triggers: [word('{"name": ')],
  },
  functionary: {
    call: (name, args) => `${literal(`<function=${name}>`)} ${args} "</function>"`,
    reply: (calls) => calls('"\\n"?'),
    triggers: [word('<function=')],
  },
  'command-r': {
    call: (name, args) =>
      `"{\\"tool_call_id\\": \\"" [0-9]{1,3} "\\", \\"tool_name\\": " ${jsonText(name)} ", \\"parameters\\": " ${args} "}"`,
    reply: (calls) => `"<|START_ACTION|>[" ${blankBody} ${calls(`"," ${blankBody}`)} ${blankBody} "]<|END_ACTION|>"`,
    triggers: [word('<|START_ACTION|>')],
  },
  mistral: {
    call: (name, args) => `${literal(name)} "[ARGS]" ${args}`,
    item: (name, args) =>
      `${literal(`{"name": ${JSON.stringify(name)}, "arguments": `)} ${args} ( ", \\"id\\": \\"" [a-zA-Z0-9]{1,9} "\\"" )? "}"`,
    reply: (calls, items) => `"[TOOL_CALLS]" ( ${calls('"[TOOL_CALLS]"')} | " "? "[" ${items('", "')} "]" )`,
    triggers: [word('[TOOL_CALLS]')],
  },
  deepseek: {
    // V3 and R1 write a type and a fence, V3.1 neither.
    call: (name, args) => {
      const fenced = `${literal(`function<｜tool▁sep｜>${name}\n\`\`\`json\n`)} ${args} "\\n\`\`\`"`;
      const plain = `${literal(`${name}<｜tool▁sep｜>`)} ${args}`;
      return `"<｜tool▁call▁begin｜>" ( ${fenced} | ${plain} ) "<｜tool▁call▁end｜>"`;
    },
    reply: (calls) => `"<｜tool▁calls▁begin｜>" ${calls('"\\n"?')} "<｜tool▁calls▁end｜>"`,
    triggers: [word('<｜tool▁calls▁begin｜>')],
  },
  kimi: {
    call: (name, args) =>
      `${literal(`<|tool_call_begin|>functions.${name}:`)} [0-9]{1,3} "<|tool_call_argument_begin|>" ${args} "<|tool_call_end|>"`,
    reply: (calls) => `"<|tool_calls_section_begin|>" ${calls('""')} "<|tool_calls_section_end|>"`,
    triggers: [word('<|tool_calls_section_begin|>')],
  },
  // The end of a call is an end token, so that there is one call per generation.
  harmony: {
    call: (name, args) => {
      const early = `"<|start|>assistant"? ${literal(` to=functions.${name}<|channel|>`)} ( "commentary" | "analysis" )`;
      const late = literal(`<|channel|>commentary to=functions.${name}`);
      return `( ${late} | ${early} ) ${constrained} "<|message|>" ${args} "<|call|>"?`;
    },
    reply: () => 'call',
    triggers: [
      word('<|channel|>commentary to=functions.'),
      word('<|start|>assistant to=functions.'),
      { type: 'pattern', source: '^ to=functions\\.' },
    ],
    before: '( "<|channel|>analysis<|message|>" thoughts "<|start|>assistant" )?',
    rules: textUntil('thoughts', '<|end|>'),
    beforeAnswer: '"<|channel|>final<|message|>"',
  },
  'qwen-coder': {
    call: (name, args) =>
      `( ${callTags('<')} "\\n"? )? ${literal(`<function=${name}>`)} ${args} "</function>" ( "\\n"? ${callTags('</')} )?`,
    reply: (calls) => calls('"\\n"?'),
    triggers: [word('<tool_call>'), word('<seed:tool_call>'), word('<function=')],
    ...tagged({
      open: (key) => literal(`<parameter=${key}>`),
      openAny: '"<parameter=" [^>\\n]+ ">"',
      close: '</parameter>',
    }),
  },
  minimax: {
    call: (name, args) => `${literal(`<invoke name="${name}">`)} ${args} "</invoke>"`,
    reply: (calls) => `"<minimax:tool_call>" "\\n"? ${calls('"\\n"?')} "\\n"? "</minimax:tool_call>"`,
    triggers: [word('<minimax:tool_call>')],
    ...tagged({
      open: (key) => literal(`<parameter name="${key}">`),
      openAny: '"<parameter name=\\"" [^>"\\n]+ "\\">"',
      close: '</parameter>',
    }),
  },
  glm: {
    call: (name, args) => `${literal(`<tool_call>${name}`)} ${args} "</tool_call>"`,
    reply: (calls) => calls('"\\n"?'),
    triggers: [word('<tool_call>')],
    ...tagged({
      open: (key) => `${literal(`<arg_key>${key}</arg_key>`)} "\\n"? "<arg_value>"`,
      openAny: '"<arg_key>" [^<\\n]+ "</arg_key>" "\\n"? "<arg_value>"',
      close: '</arg_value>',
    }),
  },
  gemma: {
    call: (name, args) => `${literal(`<|tool_call>call:${name}`)} ${args} "<tool_call|>"`,
    reply: (calls) => calls('"\\n"?'),
    triggers: [word('<|tool_call>')],
    arguments: gemmaArguments,
    rules: {
      'gemma-text': `${literal(gemmaQuote)} gemma-rest`,
      ...textUntil('gemma-rest', gemmaQuote),
      'gemma-number': '"-"? [0-9]{1,20} ( "." [0-9]{1,24} )?',
      'gemma-member': `${gemmaKey} ":" gemma-value`,
      'gemma-value': `gemma-text | gemma-number | ${booleanBody} | "null" | "[" ${listOf('gemma-value')} "]" | "{" ${listOf('gemma-member')} "}"`,
    },
  },
};
