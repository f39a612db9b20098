import {
  type Graph,
  GraphRefusal,
  type Node,
  type NodeErrors,
  NodeFault,
  type NodeProblems,
  noOutputs,
  tooComplex,
} from './graph.ts';
import { isSampler, type Output, type Step, stepOf, type Visitor } from './nodes.ts';

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
  for (const node of requestedOutputs(graph, options)) {
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
function requestedOutputs(graph: Graph, { targets }: WalkOptions): readonly Node[] {
  const nodes = [...graph.values()];
  const outputs = nodes.filter(({ classType }) => Object.hasOwn(outputKinds, classType));
  const requested = targets ? outputs.filter(({ id }) => targets.includes(id)) : outputs;
  if (requested.length > 0) return requested;
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
const maxDepth = 250;
/** Real workflows take a few visits per link; more means a graph with exponentially many paths. */
const maxVisits = 100_000;

/** One for all outputs of a graph, so that each node that gives images is read once. */
class GraphVisitor implements Visitor {
  readonly hasFile: Visitor['hasFile'];
  readonly loras: readonly string[];
  readonly conditionings: Visitor['conditionings'] = new Map();
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

  /** Plans the step of a node that gives images. */
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
    const source = node.neededLink(input).node;
    this.visit(source, input);
    return source.id;
  }

  through<Value>(node: Node, input: string, read: (source: Node, slot: number) => Value): Value | undefined {
    const link = node.link(input);
    return link && this.#enter(link.node, input, () => read(link.node, link.slot));
  }

  touch(node: Node, input: string): void {
    const source = node.link(input)?.node;
    if (source && this.#done.has(source.id)) this.#need(source.id);
    else if (source) {
      this.#enter(source, input, () => {
        for (const each of Object.keys(source.inputs)) this.touch(source, each);
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

  #enter<Value>(node: Node, input: string, read: () => Value): Value {
    if (this.#path.has(node.id)) throw node.cycle(input);
    if (this.#path.size >= maxDepth) throw new DepthFault(node, input);
    this.#visits += 1;
    if (this.#visits > maxVisits) throw tooComplex();
    this.#need(node.id);
    if (!this.#needs.has(node.id)) this.#needs.set(node.id, new Set());
    const parent = this.#current;
    this.#current = node.id;
    this.#path.add(node.id);
    try {
      const value = read();
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
      details: `${input} leads to node ${node.id}, and the graph is deeper than ${maxDepth} nodes there`,
      extra_info: { input_name: input },
    });
  }
}

type OutputFault = { readonly fault: NodeFault; readonly output: string };

function problemsByNode(faults: readonly OutputFault[]): NodeErrors {
  const problems = new Map<string, NodeProblems>();
  for (const { fault, output } of faults) {
    const { id, classType } = fault.node;
    const before = problems.get(id);
    problems.set(id, {
      errors: [...(before?.errors ?? []), fault.problem],
      dependent_outputs: [...(before?.dependent_outputs ?? []), output],
      class_type: classType,
    });
  }
  return Object.fromEntries(problems);
}
