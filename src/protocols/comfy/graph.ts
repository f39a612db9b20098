import { isAbsent, isObject } from '../fields/readers.ts';
import { GraphRefusal, NodeFault } from './errors.ts';

export interface Node {
  readonly id: string;
  readonly classType: string;
  readonly inputs: Readonly<Record<string, unknown>>;
}

export type Graph = ReadonlyMap<string, Node>;

/** The output of another node. */
export interface Link {
  readonly id: string;
  readonly slot: number;
}

/** More is no workflow that anybody made. */
const mostNodes = 1000;

/** The graph in the form that clients send: nodes by their ids. */
export function readGraph(prompt: unknown): Graph {
  if (isAbsent(prompt)) throw new GraphRefusal({ type: 'no_prompt', message: noPrompt, details: noPrompt });
  if (!isObject(prompt)) throw invalid('The prompt must be an object of nodes by their ids.', '');
  const entries = Object.entries(prompt);
  if (entries.length === 0) throw noOutputs();
  if (entries.length > mostNodes) throw invalid(`A prompt has ${mostNodes} nodes at most.`, `${entries.length} nodes`);
  return new Map(entries.map(([id, node]) => [id, readNode(id, node)]));
}

const noPrompt = 'No prompt provided';

function readNode(id: string, node: unknown): Node {
  const classType = isObject(node) ? node.class_type : undefined;
  if (!isObject(node) || typeof classType !== 'string' || classType === '') {
    throw invalid('Cannot execute because a node is missing the class_type property.', `Node ID '#${id}'`);
  }
  return { id, classType, inputs: isObject(node.inputs) ? node.inputs : {} };
}

export function noOutputs(): GraphRefusal {
  return new GraphRefusal({ type: 'prompt_no_outputs', message: 'Prompt has no outputs', details: '' });
}

export function unknownClass({ id, classType }: Node): GraphRefusal {
  return invalid(`Cannot execute because node ${classType} does not exist.`, `Node ID '#${id}'`);
}

export function tooComplex(): GraphRefusal {
  return invalid('The graph has too many ways from its outputs to its inputs.', '');
}

function invalid(message: string, details: string): GraphRefusal {
  return new GraphRefusal({ type: 'invalid_prompt', message, details });
}

/** Where an input leads; undefined where it is a value or not there. Ids may be numbers there. */
export function linkOf(node: Node, input: string): Link | undefined {
  const value = Object.hasOwn(node.inputs, input) ? node.inputs[input] : undefined;
  if (!Array.isArray(value)) return undefined;
  const [id, slot] = value;
  if (value.length === 2 && (typeof id === 'string' || typeof id === 'number') && Number.isInteger(slot)) {
    return { id: String(id), slot };
  }
  throw new NodeFault(node, {
    type: 'bad_linked_input',
    message: 'Bad linked input, must be a length-2 list of [node_id, slot_index]',
    details: input,
    extra_info: { input_name: input },
  });
}

/** The node behind a link. */
export function follow(graph: Graph, from: Node, input: string, link: Link): Node {
  const found = graph.get(link.id);
  if (found) return found;
  throw new NodeFault(from, {
    type: 'bad_linked_input',
    message: `Bad linked input, node ${link.id} is not in the prompt`,
    details: input,
    extra_info: { input_name: input, received_value: [link.id, link.slot] },
  });
}

export function missing(node: Node, input: string): NodeFault {
  return new NodeFault(node, {
    type: 'required_input_missing',
    message: 'Required input is missing',
    details: input,
    extra_info: { input_name: input },
  });
}
