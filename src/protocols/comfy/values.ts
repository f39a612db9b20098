import { NodeFault } from './errors.ts';
import { follow, type Graph, linkOf, missing, type Node } from './graph.ts';

export interface Bounds {
  readonly least: number;
  readonly most: number;
}

/** By what nodes that only hold a value call it. */
const holders = ['value', 'text', 'string', 'prompt', 'int', 'float', 'number', 'seed', 'noise_seed'];

/** A value, also where it stands in another node; undefined where there is none. */
export function heldValue(graph: Graph, start: Node, field: string): unknown {
  const seen = new Set<string>();
  let [node, input] = [start, field];
  for (let link = linkOf(node, input); link; link = linkOf(node, input)) {
    if (seen.has(link.id)) throw cycle(node, input);
    seen.add(link.id);
    const holder = follow(graph, node, input, link);
    const name = holders.find((each) => Object.hasOwn(holder.inputs, each));
    if (name === undefined) throw missing(node, input);
    [node, input] = [holder, name];
  }
  return plain(Object.hasOwn(node.inputs, input) ? node.inputs[input] : undefined);
}

export function textOf(graph: Graph, node: Node, input: string): string | undefined {
  const value = heldValue(graph, node, input);
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string' || typeof value === 'number') return String(value);
  throw wrongType(node, input, 'STRING', value);
}

/** A number as it is or as a text, which must be within its bounds as the original has them. */
export function numberOf(graph: Graph, node: Node, input: string, { least, most }: Bounds): number | undefined {
  const value = heldValue(graph, node, input);
  if (value === undefined || value === null) return undefined;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number === 'boolean' || !Number.isFinite(number)) throw wrongType(node, input, 'a number', value);
  const found = number as number;
  if (found < least)
    throw outside(node, input, { type: 'value_smaller_than_min', words: 'smaller than min', limit: least, found });
  if (found > most)
    throw outside(node, input, { type: 'value_bigger_than_max', words: 'bigger than max', limit: most, found });
  return found;
}

export function cycle(node: Node, input: string): NodeFault {
  return new NodeFault(node, {
    type: 'exception_during_inner_validation',
    message: 'Exception when validating inner node',
    details: `${input} leads back to node ${node.id}: the graph has a cycle`,
    extra_info: { input_name: input },
  });
}

function wrongType(node: Node, input: string, expected: string, received: unknown): NodeFault {
  return new NodeFault(node, {
    type: 'invalid_input_type',
    message: `Failed to convert an input value to ${expected}`,
    details: `${input}, ${JSON.stringify(received)?.slice(0, 100)}`,
    extra_info: { input_name: input },
  });
}

interface Outside {
  readonly type: string;
  readonly words: string;
  readonly limit: number;
  readonly found: number;
}

function outside(node: Node, input: string, { type, words, limit, found }: Outside): NodeFault {
  return new NodeFault(node, {
    type,
    message: `Value ${found} ${words} of ${limit}`,
    details: input,
    extra_info: { input_name: input, received_value: found },
  });
}

/** A list that is no link is wrapped. */
function plain(value: unknown): unknown {
  return typeof value === 'object' && value !== null && '__value__' in value ? value.__value__ : value;
}
