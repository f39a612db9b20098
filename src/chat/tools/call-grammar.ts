import type { GrammarTrigger } from '../../core/request.ts';
import { composeGrammar } from '../../grammar/convert.ts';
import { literal } from '../../grammar/gbnf.ts';
import type { Tool } from '../messages.ts';
import { argumentsOf, remembered } from './loosened.ts';

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
