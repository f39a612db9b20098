import type { GenerationEvent } from '../../core/events.ts';
import { tryParseJson } from '../../core/json.ts';
import type { Sliced } from '../../core/slices.ts';
import { composeGrammar, composeRules, type EmbeddedSchema } from '../../grammar/convert.ts';
import { blankBody, jsonLiteral } from '../../grammar/gbnf.ts';
import type { Loosened } from '../../grammar/schema.ts';
import type { Tool } from '../messages.ts';
import { JsonScan } from './bodies.ts';
import { type CallShape, callShapes } from './call-shapes.ts';

interface CallGrammarOptions {
  readonly tools: readonly Tool[];
  readonly parallel: boolean;
  /** GBNF of what may come before the call, such as thinking; only if the grammar applies from the first token. */
  readonly before: string;
  /** A schema for the answer that may come instead of a call. */
  readonly answer?: unknown;
}

/** A grammar for calls of these tools whose arguments fit their schemas; undefined for formats without a shape. */
export function* callGrammar(format: string, { before, tools, parallel, answer }: CallGrammarOptions) {
  const shape = callShapes[format];
  if (!shape || tools.length === 0) return undefined;
  const { rules } = yield* toolRules({
    schemas: tools.map(({ parameters }) => parameters),
    answer,
    // Formats with JSON arguments share their rules.
    ...(shape.rules ? { format } : {}),
  });
  const each = (write: CallShape['call']) =>
    tools.map(({ name }, index) => write(name, argumentsRule(index))).join(' | ');
  const several = (rule: string) => (between: string) => (parallel ? `${rule} ( ${between} ${rule} )*` : rule);
  const calls = shape.reply(several('call'), several('item'));
  const answered = [shape.beforeAnswer ?? '', 'answer'].join(' ').trim();
  const reply = answer === undefined ? calls : `( ${calls} | ${answered} )`;
  const thinking = before === '' ? '' : (shape.before ?? before);
  const written = [`call ::= ${each(shape.call)}`, ...(shape.item ? [`item ::= ${each(shape.item)}`] : [])];
  return {
    gbnf: `root ::= ${`${thinking} ${reply}`.trim()}\n${written.join('\n')}\n${rules}`,
    triggers: shape.triggers,
  };
}

/** Texts that begin a call and nothing else. */
export function callMarkers(format: string): readonly string[] {
  const triggers = callShapes[format]?.triggers ?? [];
  return triggers.flatMap((trigger) => (trigger.type === 'word' && /^[<[]/.test(trigger.text) ? [trigger.text] : []));
}

function argumentsRule(index: number): string {
  return `arguments-${index}`;
}

interface ToolSchemas {
  readonly schemas: readonly Tool['parameters'][];
  readonly answer?: unknown;
  readonly format?: string;
}

/** The part that is the same in each turn of a conversation, and that is large if the tools are many. */
const toolRules = memoized(8, function* ({ schemas, answer, format = '' }: ToolSchemas) {
  const shape = callShapes[format];
  const taggedArguments = schemas.map((parameters, index) => shape?.arguments?.(parameters, argumentsRule(index)));
  const bodies = taggedArguments.flatMap((rule, index) => (rule ? [[argumentsRule(index), rule.body] as const] : []));
  const own = { ...shape?.rules, ...Object.fromEntries(bodies) };
  const embedded = schemas.map((parameters, index) =>
    taggedArguments[index] ? taggedArguments[index].schemas : { [argumentsRule(index)]: argumentsOf({ parameters }) },
  );
  const strict = answer === undefined ? {} : { answer: { schema: answer, mode: 'strict' } as const };
  const { rules, loosened } = yield* composeRules(Object.assign({}, ...embedded, strict), [
    ...['call', 'item', ...(answer === undefined ? ['answer'] : [])],
    ...Object.keys(own),
  ]);
  return {
    rules:
      rules +
      Object.entries(own)
        .map(([name, body]) => `${name} ::= ${body}\n`)
        .join(''),
    loosened,
  };
});

/** A call up to its arguments, as in the grammar of call lists. */
const header = /"function"\s*:\s*\{\s*"name"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"arguments"\s*:\s*/g;

/** The arguments of each call of a call list, as far as they go; `whole` if nothing was cut off. */
export function readCallList(written: string): { readonly calls: readonly string[]; readonly whole: boolean } {
  const list = tryParseJson(written);
  if (list !== undefined) return { calls: (Array.isArray(list) ? list : [list]).map(argumentsIn), whole: true };
  const calls: string[] = [];
  for (let start = nextHeader(written, 0); start !== undefined; ) {
    const rest = written.slice(start);
    const text = rest.slice(0, new JsonScan().push(rest).length);
    const value = tryParseJson(text);
    calls.push(value === undefined ? text : JSON.stringify(value));
    start = nextHeader(written, start + text.length);
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
  const match = header.exec(written);
  return match ? match.index + match[0].length : undefined;
}

function argumentsIn(call: unknown): string {
  const args = (call as { function?: { arguments?: unknown } } | null)?.function?.arguments;
  return JSON.stringify(args ?? {});
}

/** The grammar of a call that is requested in a prompt: a list, so that the model can call the tool several times. */
export function callListGrammar(tool: Tool, parallel: boolean): string {
  const object = (...members: readonly string[]) => `"{" ${members.join(' "," ')} ${blankBody} "}"`;
  const named = object(member('name', jsonLiteral(tool.name)), member('arguments', 'arguments'));
  const call = object(member('type', jsonLiteral('function')), member('function', named));
  const more = parallel ? [`( "," ${blankBody} ${call} )*`] : [];
  const root = ['"["', blankBody, call, ...more, blankBody, '"]"'].join(' ');
  return composeGrammar(root, { arguments: argumentsOf(tool) }).grammar;
}

function member(key: string, value: string): string {
  return `${blankBody} ${jsonLiteral(key)} ":" ${blankBody} ${value}`;
}

/** The arguments of a call in a grammar: always an object, which fits the schema as far as a grammar can express it. */
function argumentsOf({ parameters }: Pick<Tool, 'parameters'>): EmbeddedSchema {
  return { schema: parameters, mode: 'loose', only: 'object' };
}

/** The parts of the schemas that are not enforced in calls of these tools. */
export function* loosenedTools(tools: readonly Tool[]) {
  const { loosened } = yield* toolRules({ schemas: tools.map(({ parameters }) => parameters) });
  return tools.flatMap(({ name }, index) =>
    (loosened.get(argumentsRule(index)) ?? []).map((one) => ({ tool: name, ...one })),
  );
}

/** `get_weather/properties/amount multipleOf`: where in which tool, and which keyword. */
export function loosenedText({ tool, pointer, keyword }: Loosened & { readonly tool: string }): string {
  const pointerText = `${tool}${pointer.slice(1)}`;
  return keyword === undefined ? pointerText : `${pointerText} ${keyword}`;
}

/** Beyond this a key is not worth its memory. */
const maxKeyLength = 1_000_000;

/** Memoizes the last results by the JSON of their input: agents send the same tools in each turn. */
export function memoized<Input, Value>(
  maxEntries: number,
  make: (input: Input) => Sliced<Value>,
): (input: Input) => Sliced<Value> {
  const cache = new Map<string, Value>();
  return function* (input) {
    const key = JSON.stringify(input);
    const value = cache.has(key) ? (cache.get(key) as Value) : yield* make(input);
    if (key.length > maxKeyLength) return value;
    // Least recently used results come first and are removed.
    cache.delete(key);
    cache.set(key, value);
    if (cache.size > maxEntries) cache.delete(cache.keys().next().value as string);
    return value;
  };
}
