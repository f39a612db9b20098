import type { GenerationEvent } from '../../core/events.ts';
import type { GrammarTrigger } from '../../core/request.ts';
import { composeGrammar, type EmbeddedSchema } from '../../grammar/convert.ts';
import { blankBody, jsonLiteral, literal } from '../../grammar/gbnf.ts';
import type { Loosened } from '../../grammar/schema.ts';
import type { Tool } from '../messages.ts';
import { JsonScan } from './bodies.ts';

/** How a call is spelled around its arguments; only formats whose arguments are JSON have a shape. */
interface CallShape {
  readonly open: (name: string) => string;
  readonly close: string;
  /** Around and between the calls of one reply. */
  readonly first: string;
  readonly between: string;
  readonly last: string;
  /** The words after which a free reply has become a call. */
  readonly trigger: string;
}

const quoted = (name: string): string => JSON.stringify(name);

const shapes: Readonly<Record<string, CallShape>> = {
  hermes: {
    open: (name) => `<tool_call>\n{"name": ${quoted(name)}, "arguments": `,
    close: '}\n</tool_call>',
    first: '',
    between: '\n',
    last: '',
    trigger: '<tool_call>',
  },
  granite: {
    open: (name) => `{"name": ${quoted(name)}, "arguments": `,
    close: '}',
    first: '<|tool_call|>[',
    between: ', ',
    last: ']',
    trigger: '<|tool_call|>',
  },
  llama: {
    open: (name) => `{"name": ${quoted(name)}, "parameters": `,
    close: '}',
    first: '',
    between: '; ',
    last: '',
    trigger: '{"name": ',
  },
};

export interface CallGrammar {
  readonly gbnf: string;
  /** For a reply that may also be text: what begins the part that the grammar rules. */
  readonly triggers: readonly GrammarTrigger[];
}

export interface CallGrammarOptions {
  readonly tools: readonly Tool[];
  readonly parallel: boolean;
  /** GBNF of what may stand before the call, such as thinking; only where the grammar holds from the first token. */
  readonly before: string;
  /** A schema for the answer that may come instead of a call. */
  readonly answer?: unknown;
}

/** A grammar for calls of these tools whose arguments fit their schemas; undefined for formats it cannot spell. */
export function callGrammar(format: string, options: CallGrammarOptions): CallGrammar | undefined {
  const { tools, parallel, before, answer } = options;
  const shape = shapes[format];
  if (!shape || tools.length === 0) return undefined;
  const { reply, rules } = rulesOf({ format, tools, parallel, answer });
  return {
    gbnf: `root ::= ${`${before} ${reply}`.trim()}\n${rules}`,
    triggers: [{ type: 'word', text: shape.trigger }],
  };
}

interface RulesInput extends Omit<CallGrammarOptions, 'before'> {
  readonly format: string;
}

/** The part that stays the same from turn to turn of a conversation, and that is large where the tools are many. */
const rulesOf = remembered(8, ({ format, tools, parallel, answer }: RulesInput) => {
  const shape = shapes[format] as CallShape;
  const rule = (index: number) => `arguments-${index}`;
  const schemas = Object.fromEntries(tools.map((tool, index) => [rule(index), argumentsOf(tool)]));
  const call = tools
    .map(({ name }, index) => `${literal(shape.open(name))} ${rule(index)} ${literal(shape.close)}`)
    .join(' | ');
  const more = parallel ? `( ${literal(shape.between)} call )*` : '';
  const edge = (text: string) => (text === '' ? '' : literal(text));
  const all = [edge(shape.first), 'call', more, edge(shape.last)].filter((part) => part !== '').join(' ');
  const { grammar } = composeGrammar(
    '""',
    { ...schemas, ...(answer === undefined ? {} : { answer: { schema: answer, mode: 'strict' } }) },
    { call },
  );
  const rules = grammar.slice(grammar.indexOf('\n') + 1);
  return { reply: answer === undefined ? all : `( ${all} | answer )`, rules };
});

/** Everything of a call up to its arguments, as the grammar of call lists has it. */
const header = /"function"\s*:\s*\{\s*"name"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"arguments"\s*:\s*/g;

interface ReadCalls {
  /** The arguments of each call; of one that was cut off, as much as there is. */
  readonly calls: readonly string[];
  /** Nothing was cut off. */
  readonly whole: boolean;
}

/** The calls of a list that was asked for in words, whole or cut off at any place. */
export function readCallList(written: string): ReadCalls {
  const list = parsed(written);
  if (list !== undefined) return { calls: (Array.isArray(list) ? list : [list]).map(argumentsIn), whole: true };
  const calls: string[] = [];
  for (let found = nextHeader(written, 0); found !== undefined; ) {
    const rest = written.slice(found);
    const text = rest.slice(0, new JsonScan().push(rest).length);
    const value = parsed(text);
    calls.push(value === undefined ? text : JSON.stringify(value));
    found = nextHeader(written, found + text.length);
  }
  return { calls, whole: false };
}

export function callEvents(calls: readonly string[], { name }: Tool, newId: () => string): readonly GenerationEvent[] {
  return calls.flatMap((json, index): GenerationEvent[] => [
    { type: 'tool-start', index, id: newId(), name },
    ...(json === '' ? [] : [{ type: 'tool-delta' as const, index, json }]),
    { type: 'tool-end', index },
  ]);
}

function nextHeader(written: string, from: number): number | undefined {
  header.lastIndex = from;
  const found = header.exec(written);
  return found ? found.index + found[0].length : undefined;
}

function argumentsIn(call: unknown): string {
  const given = (call as { function?: { arguments?: unknown } } | null)?.function?.arguments;
  return JSON.stringify(given ?? {});
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The grammar of a call where it is asked for in words: a list, so that a model may make the same call with several
 * arguments.
 */
export function callListGrammar(tool: Tool, parallel: boolean): string {
  const call = [
    '"{"',
    ...member('type', jsonLiteral('function')),
    '","',
    ...member('function', '"{"'),
    ...member('name', jsonLiteral(tool.name)),
    '","',
    ...member('arguments', 'arguments'),
    blankBody,
    '"}"',
    blankBody,
    '"}"',
  ].join(' ');
  const more = parallel ? [`( "," ${blankBody} ${call} )*`] : [];
  const root = ['"["', blankBody, call, ...more, blankBody, '"]"'].join(' ');
  return composeGrammar(root, { arguments: argumentsOf(tool) }).grammar;
}

function member(key: string, value: string): readonly string[] {
  return [blankBody, jsonLiteral(key), '":"', blankBody, value];
}

/** A demand of a tool's schema that calls of it are not held to. */
interface LoosenedTool extends Loosened {
  readonly tool: string;
}

/** The arguments of a call in a grammar: always an object, and held to the schema as far as a grammar can. */
function argumentsOf({ parameters }: Pick<Tool, 'parameters'>): EmbeddedSchema {
  return { schema: parameters, mode: 'loose', only: 'object' };
}

/** What calls of these tools are not held to. Agents offer the same tools with each turn. */
export const loosenedTools: (tools: readonly Tool[]) => readonly LoosenedTool[] = remembered(16, survey);

function survey(tools: readonly Tool[]): readonly LoosenedTool[] {
  const schemas = Object.fromEntries(tools.map((tool, index) => [`arguments-${index}`, argumentsOf(tool)]));
  const { loosened } = composeGrammar('""', schemas);
  return tools.flatMap(({ name }, index) =>
    (loosened.get(`arguments-${index}`) ?? []).map((one) => ({ tool: name, ...one })),
  );
}

/** `get_weather/properties/amount multipleOf`: where in which tool, and which keyword. */
export function loosenedText({ tool, pointer, keyword }: LoosenedTool): string {
  const place = `${tool}${pointer.slice(1)}`;
  return keyword === undefined ? place : `${place} ${keyword}`;
}

/** Beyond this a key is not worth its memory. */
const longestKey = 1_000_000;

/** The function with its last results kept, by what they were made from: for work that clients ask for turn after turn. */
export function remembered<Input, Value>(most: number, make: (input: Input) => Value): (input: Input) => Value {
  const kept = new Map<string, Value>();
  return (input) => {
    const key = JSON.stringify(input);
    const value = kept.has(key) ? (kept.get(key) as Value) : make(input);
    if (key.length > longestKey) return value;
    // Those used last stand last, and the first ones go.
    kept.delete(key);
    kept.set(key, value);
    if (kept.size > most) kept.delete(kept.keys().next().value as string);
    return value;
  };
}
