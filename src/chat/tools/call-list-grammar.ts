import { composeGrammar } from '../../grammar/convert.ts';
import { jsonLiteral } from '../../grammar/gbnf.ts';
import { blankBody } from '../../grammar/json.ts';
import type { Tool } from '../messages.ts';
import { argumentsOf } from './loosened.ts';

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
