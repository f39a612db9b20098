import type { JsonObject } from '../../http/body.ts';
import { isAbsent, isObject } from '../fields.ts';
import { isSampler, type Output, type Step, stepOf, type Visitor } from './nodes.ts';

export interface GraphProblem {
  readonly type: string;
  readonly message: string;
  readonly details: string;
  readonly extra_info?: object;
}

/** Problems of one node, and the outputs that depend on it. */
interface NodeProblems {
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
  number(input: string, least: number, most: number): number | undefined {
    const value = this.#value(input);
    if (isAbsent(value)) return undefined;
    const found = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof found !== 'number' || !Number.isFinite(found)) throw this.#wrongType(input, 'a number', value);
    const outside = (type: string, words: string, limit: number) =>
      this.inputFault(input, type, `Value ${found} ${words} of ${limit}`, input, { received_value: found });
    if (found < least) throw outside('value_smaller_than_min', 'smaller than min', least);
    if (found > most) throw outside('value_bigger_than_max', 'bigger than max', most);
    return found;
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
    // A list that is no link is wrapped.
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
const mostNodes = 1000;

/** The graph in the API format: nodes by their ids. */
export function readGraph(prompt: unknown): Graph {
  const noPrompt = 'No prompt provided';
  if (isAbsent(prompt)) throw new GraphRefusal({ type: 'no_prompt', message: noPrompt, details: noPrompt });
  if (!isObject(prompt)) throw invalid('The prompt must be an object of nodes by their ids.');
  const entries = Object.entries(prompt);
  if (entries.length === 0) throw noOutputs();
  if (entries.length > mostNodes) throw invalid(`A prompt has ${mostNodes} nodes at most.`, `${entries.length} nodes`);
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

function noOutputs(): GraphRefusal {
  return new GraphRefusal({ type: 'prompt_no_outputs', message: 'Prompt has no outputs', details: '' });
}

function tooComplex(): GraphRefusal {
  return invalid('The graph has too many ways from its outputs to its inputs.');
}

function invalid(message: string, details = ''): GraphRefusal {
  return new GraphRefusal({ type: 'invalid_prompt', message, details });
}

export interface WalkOptions extends Pick<Visitor, 'hasFile'> {
  /** File names of the LoRAs of the model. */
  readonly loras?: readonly string[] | undefined;
  /** Ids of the only outputs to compute; by default all. */
  readonly targets?: readonly string[] | undefined;
}

const outputKinds: Readonly<Record<string, Output['kind']>> = {
  SaveImage: 'output',
  PreviewImage: 'temp',
  SaveImageWebsocket: 'socket',
  ETN_SendImageWebSocket: 'socket',
};

/** Plans the outputs of a graph. Nodes that no output depends on are not read. `nodeErrors` has outputs that failed. */
export function walkGraph(graph: Graph, options: WalkOptions) {
  const steps = new Map<string, Step>();
  const visitor = new GraphVisitor(steps, options);
  const outputs: Output[] = [];
  const faults: OutputFault[] = [];
  for (const node of wantedOutputs(graph, options)) {
    try {
      outputs.push(walkOutput(node, visitor));
    } catch (error) {
      if (!(error instanceof NodeFault)) throw error;
      faults.push({ fault: error, output: node.id });
    }
  }
  const nodeErrors = problemsByNode(faults);
  if (outputs.length > 0) return { plan: { steps, outputs }, nodeErrors };
  const details = faults.map(({ fault }) => fault.message).join('\n');
  const problem = { type: 'prompt_outputs_failed_validation', message: 'Prompt outputs failed validation', details };
  throw new GraphRefusal(problem, nodeErrors);
}

/** Without an output node, the first sampler. */
function wantedOutputs(graph: Graph, { targets }: WalkOptions): readonly Node[] {
  const nodes = [...graph.values()];
  const outputs = nodes.filter(({ classType }) => Object.hasOwn(outputKinds, classType));
  const wanted = targets ? outputs.filter(({ id }) => targets.includes(id)) : outputs;
  if (wanted.length > 0) return wanted;
  const sampler = targets ? undefined : nodes.find(isSampler);
  if (sampler) return [sampler];
  throw noOutputs();
}

function walkOutput(node: Node, visitor: GraphVisitor): Output {
  const { id } = node;
  if (isSampler(node)) {
    visitor.visit(node, '');
    return { id, kind: 'output', prefix: 'ComfyUI', from: id, order: visitor.order(id) };
  }
  const from = visitor.pictures(node, 'images');
  const prefix = node.text('filename_prefix') ?? 'ComfyUI';
  return { id, kind: outputKinds[node.classType] ?? 'output', prefix, from, order: [...visitor.order(from), id] };
}

/** Readers recurse along the graph, so that the stack limits its depth. Real workflows have some dozens. */
const deepest = 250;
/** Real workflows take a few visits per link; more means a graph with exponentially many paths. */
const mostVisits = 100_000;

/** One for all outputs of a graph, so that each node that gives pictures is read once. */
class GraphVisitor implements Visitor {
  readonly hasFile: Visitor['hasFile'];
  readonly loras: readonly string[];
  /** Ids on the path from the output to the current node. */
  readonly #path = new Set<string>();
  #current: string | undefined;
  /** Direct dependencies of each node, in the order of the visits. */
  readonly #needs = new Map<string, Set<string>>();
  readonly #done = new Set<string>();
  readonly #faults = new Map<string, NodeFault>();
  #visits = 0;

  constructor(
    private readonly steps: Map<string, Step>,
    { hasFile, loras = [] }: WalkOptions,
  ) {
    this.hasFile = hasFile;
    this.loras = loras;
  }

  /** Plans the step of a node that gives pictures. */
  visit(node: Node, input: string): void {
    const fault = this.#faults.get(node.id);
    if (fault) throw fault;
    this.#enter(node, input, () => {
      if (this.steps.has(node.id)) return;
      try {
        this.steps.set(node.id, stepOf(node, this));
      } catch (error) {
        // A node that is too deep may be nearer to another output.
        if (error instanceof NodeFault && !(error instanceof DepthFault)) this.#faults.set(node.id, error);
        throw error;
      }
    });
  }

  pictures(node: Node, input: string): string {
    const found = node.neededLink(input).node;
    this.visit(found, input);
    return found.id;
  }

  through<Value>(node: Node, input: string, look: (found: Node, slot: number) => Value): Value | undefined {
    const link = node.link(input);
    return link && this.#enter(link.node, input, () => look(link.node, link.slot));
  }

  touch(node: Node, input: string): void {
    const found = node.link(input)?.node;
    if (found && this.#done.has(found.id)) this.#need(found.id);
    else if (found) {
      this.#enter(found, input, () => {
        for (const each of Object.keys(found.inputs)) this.touch(found, each);
      });
    }
  }

  /** A node and all its dependencies in topological order: depth first, without recursion. */
  order(root: string): readonly string[] {
    const order = new Set<string>();
    const entered = new Set([root]);
    const stack = [{ id: root, left: [...(this.#needs.get(root) ?? [])] }];
    for (let top = stack.at(-1); top; top = stack.at(-1)) {
      const next = top.left.shift();
      if (next === undefined) {
        order.add(top.id);
        stack.pop();
      } else if (!entered.has(next)) {
        entered.add(next);
        stack.push({ id: next, left: [...(this.#needs.get(next) ?? [])] });
      }
    }
    return [...order];
  }

  #need(id: string): void {
    if (this.#current !== undefined) this.#needs.get(this.#current)?.add(id);
  }

  #enter<Value>(node: Node, input: string, look: () => Value): Value {
    if (this.#path.has(node.id)) throw node.cycle(input);
    if (this.#path.size >= deepest) throw new DepthFault(node, input);
    this.#visits += 1;
    if (this.#visits > mostVisits) throw tooComplex();
    this.#need(node.id);
    if (!this.#needs.has(node.id)) this.#needs.set(node.id, new Set());
    const parent = this.#current;
    this.#current = node.id;
    this.#path.add(node.id);
    try {
      const value = look();
      this.#done.add(node.id);
      return value;
    } finally {
      this.#current = parent;
      this.#path.delete(node.id);
    }
  }
}

class DepthFault extends NodeFault {
  constructor(node: Node, input: string) {
    super(node, {
      type: 'exception_during_inner_validation',
      message: 'Exception when validating inner node',
      details: `${input} leads to node ${node.id}, and the graph is deeper than ${deepest} nodes there`,
      extra_info: { input_name: input },
    });
  }
}

interface OutputFault {
  readonly fault: NodeFault;
  readonly output: string;
}

function problemsByNode(faults: readonly OutputFault[]): NodeErrors {
  const found = new Map<string, NodeProblems>();
  for (const { fault, output } of faults) {
    const { id, classType } = fault.node;
    const before = found.get(id);
    found.set(id, {
      errors: [...(before?.errors ?? []), fault.problem],
      dependent_outputs: [...(before?.dependent_outputs ?? []), output],
      class_type: classType,
    });
  }
  return Object.fromEntries(found);
}
