import type { GenerationEvent } from '../../core/events.ts';
import { composeGrammar } from '../../grammar/convert.ts';
import { blankBody, jsonLiteral } from '../../grammar/gbnf.ts';
import type { Tool } from '../messages.ts';
import { JsonScan } from './json-body.ts';
import { argumentsOf } from './loosened.ts';

/** Everything of a call up to its arguments, as the grammar of call lists has it. */
const header = /"function"\s*:\s*\{\s*"name"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"arguments"\s*:\s*/g;

export interface ReadCalls {
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
