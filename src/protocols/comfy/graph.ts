import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../fields.ts';

export interface GraphProblem {
  readonly type: string;
  readonly message: string;
  readonly details: string;
  readonly extra_info?: object;
}

/** Problems of one node, and the outputs that depend on it. */
export interface NodeProblems {
  readonly errors: readonly GraphProblem[];
  readonly dependent_outputs: readonly string[];
  readonly class_type: string;
}

export type NodeErrors = Readonly<Record<string, NodeProblems>>;

/** The whole graph is refused. */
export class GraphRefusal extends Error {
  constructor(
    readonly problem: GraphProblem,
    readonly nodeErrors: NodeErrors = {},
  ) {
    super(problem.message);
  }
}

/** A node is wrong, so that outputs that depend on it cannot be computed. */
export class NodeFault extends Error {
  constructor(
    readonly node: Pick<Node, 'id' | 'classType'>,
    readonly problem: GraphProblem,
  ) {
    super(`${problem.message}: ${problem.details}`);
  }
}

export type Graph = ReadonlyMap<string, Node>;

/** Names of the input of a node that only holds a value, such as a primitive. */
const valueInputs = ['value', 'text', 'string', 'prompt', 'int', 'float', 'number', 'seed', 'noise_seed'];

export class Node {
  constructor(
    private readonly graph: Graph,
    readonly id: string,
    readonly classType: string,
    readonly inputs: JsonObject,
  ) {}

  /** The output that an input is linked to; undefined if the input is a value or missing. Ids may be numbers. */
  link(input: string): { readonly node: Node; readonly slot: number } | undefined {
    const value = this.#input(input);
    if (!Array.isArray(value)) return undefined;
    const [id, slot] = value;
    if (value.length !== 2 || (typeof id !== 'string' && typeof id !== 'number') || !Number.isInteger(slot)) {
      const message = 'Bad linked input, must be a length-2 list of [node_id, slot_index]';
      throw this.inputFault(input, 'bad_linked_input', message);
    }
    const node = this.graph.get(String(id));
    if (node) return { node, slot };
    const more = { received_value: [String(id), slot] };
    throw this.inputFault(input, 'bad_linked_input', `Bad linked input, node ${id} is not in the prompt`, input, more);
  }

  neededLink(input: string): { readonly node: Node; readonly slot: number } {
    const link = this.link(input);
    if (!link) throw this.missing(input);
    return link;
  }

  text(input: string): string | undefined {
    const value = this.#value(input);
    if (isAbsent(value)) return undefined;
    if (typeof value === 'string' || typeof value === 'number') return String(value);
    throw this.#wrongType(input, 'STRING', value);
  }

  /** A number, or a string with one, within the bounds of the original. */
  number(input: string, min: number, max: number): number | undefined {
    const value = this.#value(input);
    if (isAbsent(value)) return undefined;
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) throw this.#wrongType(input, 'a number', value);
    const outside = (comparison: string, limit: number) => {
      const type = `value_${comparison.replaceAll(' ', '_')}`;
      const message = `Value ${number} ${comparison} of ${limit}`;
      return this.inputFault(input, type, message, input, { received_value: number });
    };
    if (number < min) throw outside('smaller than min', min);
    if (number > max) throw outside('bigger than max', max);
    return number;
  }

  fault(type: string, message: string, details: string, extra_info: object = {}): NodeFault {
    return new NodeFault(this, { type, message, details, extra_info });
  }

  inputFault(input: string, type: string, message: string, details = input, more: object = {}): NodeFault {
    return this.fault(type, message, details, { input_name: input, ...more });
  }

  missing(input: string): NodeFault {
    return this.inputFault(input, 'required_input_missing', 'Required input is missing');
  }

  cycle(input: string): NodeFault {
    const details = `${input} leads back to node ${this.id}: the graph has a cycle`;
    return this.inputFault(input, 'exception_during_inner_validation', 'Exception when validating inner node', details);
  }

  /** A file or name that does not exist. */
  notFound(input: string, type: string, message: string, details: string, name: string): NodeFault {
    return this.inputFault(input, type, message, details, { received_value: name.slice(0, 200) });
  }

  unknownClass(): GraphRefusal {
    return invalid(`Cannot execute because node ${this.classType} does not exist.`, `Node ID '#${this.id}'`);
  }

  /** A value, also if it is in a linked node; undefined if there is none. */
  #value(field: string): unknown {
    const seen = new Set<string>();
    let node: Node = this;
    let input = field;
    for (let link = node.link(input); link; link = node.link(input)) {
      if (seen.has(link.node.id)) throw node.cycle(input);
      seen.add(link.node.id);
      const name = valueInputs.find((each) => Object.hasOwn(link.node.inputs, each));
      if (name === undefined) throw node.missing(input);
      [node, input] = [link.node, name];
    }
    const value = node.#input(input);
    // A list that is not a link is wrapped.
    return typeof value === 'object' && value !== null && '__value__' in value ? value.__value__ : value;
  }

  #input(input: string): unknown {
    return Object.hasOwn(this.inputs, input) ? this.inputs[input] : undefined;
  }

  #wrongType(input: string, expected: string, received: unknown): NodeFault {
    const details = `${input}, ${JSON.stringify(received)?.slice(0, 100)}`;
    return this.inputFault(input, 'invalid_input_type', `Failed to convert an input value to ${expected}`, details);
  }
}

/** More than any real workflow has. */
const maxNodes = 1000;

/** The graph in the API format: nodes by their ids. */
export function readGraph(prompt: unknown): Graph {
  const noPrompt = 'No prompt provided';
  if (isAbsent(prompt)) throw new GraphRefusal({ type: 'no_prompt', message: noPrompt, details: noPrompt });
  if (!isObject(prompt)) throw invalid('The prompt must be an object of nodes by their ids.');
  const entries = Object.entries(prompt);
  if (entries.length === 0) throw noOutputs();
  if (entries.length > maxNodes) throw invalid(`A prompt has ${maxNodes} nodes at most.`, `${entries.length} nodes`);
  const graph = new Map<string, Node>();
  for (const [id, node] of entries) {
    const classType = isObject(node) ? node.class_type : undefined;
    if (!isObject(node) || typeof classType !== 'string' || classType === '') {
      throw invalid('Cannot execute because a node is missing the class_type property.', `Node ID '#${id}'`);
    }
    graph.set(id, new Node(graph, id, classType, isObject(node.inputs) ? node.inputs : {}));
  }
  return graph;
}

export function noOutputs(): GraphRefusal {
  return new GraphRefusal({ type: 'prompt_no_outputs', message: 'Prompt has no outputs', details: '' });
}

export function tooComplex(): GraphRefusal {
  return invalid('The graph has too many ways from its outputs to its inputs.');
}

function invalid(message: string, details = ''): GraphRefusal {
  return new GraphRefusal({ type: 'invalid_prompt', message, details });
}
