import { GraphRefusal, type NodeErrors, NodeFault, type NodeProblems } from './errors.ts';
import { follow, type Graph, linkOf, missing, type Node, noOutputs, tooComplex, unknownClass } from './graph.ts';
import { inlinePicture, noFile } from './node-pictures.ts';
import type { Output, Plan, Step } from './plan.ts';
import { isSampler, readSampler } from './samplers.ts';
import { cycle, numberOf, textOf } from './values.ts';
import type { Visitor } from './visitor.ts';

export interface WalkOptions {
  /** Whether a picture of this name was sent. */
  readonly hasFile: (name: string) => boolean;
  /** The files of what the model may be changed by. */
  readonly loras?: readonly string[] | undefined;
  /** Only these outputs are wanted. */
  readonly targets?: readonly string[] | undefined;
}

export interface Walked {
  readonly plan: Plan;
  /** Outputs that cannot be had, where others can. */
  readonly nodeErrors: NodeErrors;
}

const outputKinds: Readonly<Record<string, Output['kind']>> = {
  SaveImage: 'output',
  PreviewImage: 'temp',
  SaveImageWebsocket: 'socket',
  ETN_SendImageWebSocket: 'socket',
};

/** From each output back to where its pictures come from. Nodes that no output needs are not looked at. */
export function walkGraph(graph: Graph, options: WalkOptions): Walked {
  const steps = new Map<string, Step>();
  const visitor = visiting(graph, steps, options);
  const outputs: Output[] = [];
  const faults: { readonly fault: NodeFault; readonly output: string }[] = [];
  for (const node of wantedOutputs(graph, options)) {
    try {
      outputs.push(walkOutput(node, graph, visitor));
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

/** A graph that saves nothing still means its first sampler. */
function wantedOutputs(graph: Graph, { targets }: WalkOptions): readonly Node[] {
  const nodes = [...graph.values()];
  const outputs = nodes.filter(({ classType }) => Object.hasOwn(outputKinds, classType));
  const wanted = targets ? outputs.filter(({ id }) => targets.includes(id)) : outputs;
  if (wanted.length > 0) return wanted;
  const sampler = targets ? undefined : nodes.find(isSampler);
  if (sampler) return [sampler];
  throw noOutputs();
}

function walkOutput(node: Node, graph: Graph, visitor: GraphVisitor): Output {
  if (isSampler(node)) {
    const from = visitor.visit(node, '');
    return { id: node.id, kind: 'output', prefix: 'ComfyUI', from, order: visitor.order(from) };
  }
  const kind = outputKinds[node.classType] ?? 'output';
  const from = visitor.pictures(node, 'images');
  const prefix = textOf(graph, node, 'filename_prefix') ?? 'ComfyUI';
  return { id: node.id, kind, prefix, from, order: [...visitor.order(from), node.id] };
}

/** Readers call each other for each node on the way, so that the stack bounds the depth. Workflows of people have some dozens. */
const deepest = 250;
/** Looks at nodes, of which a workflow takes a few for each link; only one that is made to take long takes more. */
const mostLooks = 100_000;

interface GraphVisitor extends Visitor {
  visit(node: Node, input: string): string;
  /** A node and all that it needs, each behind those that it needs itself. */
  order(id: string): readonly string[];
}

/** One for all outputs of a graph, so that each node that gives pictures is read once. */
function visiting(graph: Graph, steps: Map<string, Step>, options: WalkOptions): GraphVisitor {
  /** The way from the output to the node that is looked at. */
  const way: string[] = [];
  const onWay = new Set<string>();
  /** What each node was seen to need directly, in the order of the looks. */
  const needs = new Map<string, Set<string>>();
  const done = new Set<string>();
  /** Of nodes that cannot give pictures; those that are too deep may be nearer to another output. */
  const faults = new Map<string, NodeFault>();
  let looks = 0;

  function need(id: string): void {
    const parent = way.at(-1);
    if (parent !== undefined) needs.get(parent)?.add(id);
  }

  function enter<Value>(node: Node, input: string, look: () => Value): Value {
    if (onWay.has(node.id)) throw cycle(node, input);
    if (way.length >= deepest) throw new DepthFault(node, input, deepest);
    looks += 1;
    if (looks > mostLooks) throw tooComplex();
    need(node.id);
    if (!needs.has(node.id)) needs.set(node.id, new Set());
    way.push(node.id);
    onWay.add(node.id);
    try {
      const value = look();
      done.add(node.id);
      return value;
    } finally {
      way.pop();
      onWay.delete(node.id);
    }
  }

  function visit(node: Node, input: string): string {
    const fault = faults.get(node.id);
    if (fault) throw fault;
    return enter(node, input, () => {
      if (steps.has(node.id)) return node.id;
      try {
        steps.set(node.id, stepOf(node, visitor));
      } catch (error) {
        if (error instanceof NodeFault && !(error instanceof DepthFault)) faults.set(node.id, error);
        throw error;
      }
      return node.id;
    });
  }

  const visitor: GraphVisitor = {
    graph,
    hasFile: options.hasFile,
    loras: options.loras ?? [],
    visit,
    order: (id) => inOrder(id, needs),
    pictures: (node, input) => {
      const link = linkOf(node, input);
      if (!link) throw missing(node, input);
      return visit(follow(graph, node, input, link), input);
    },
    through: (node, input, look) => {
      const link = linkOf(node, input);
      if (!link) return undefined;
      const found = follow(graph, node, input, link);
      return enter(found, input, () => look(found, link.slot));
    },
    touch: (node, input) => {
      const link = linkOf(node, input);
      if (!link) return;
      const found = follow(graph, node, input, link);
      if (done.has(found.id)) {
        need(found.id);
        return;
      }
      enter(found, input, () => {
        for (const each of Object.keys(found.inputs)) visitor.touch(found, each);
      });
    },
  };
  return visitor;
}

class DepthFault extends NodeFault {
  constructor(node: Node, input: string, depth: number) {
    super(node, {
      type: 'exception_during_inner_validation',
      message: 'Exception when validating inner node',
      details: `${input} leads to node ${node.id}, and the graph is deeper than ${depth} nodes there`,
      extra_info: { input_name: input },
    });
  }
}

/** Depth first and without recursion. */
function inOrder(root: string, needs: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] {
  const order = new Set<string>();
  const entered = new Set([root]);
  const stack = [{ id: root, left: [...(needs.get(root) ?? [])] }];
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const next = top.left.shift();
    if (next === undefined) {
      order.add(top.id);
      stack.pop();
    } else if (!entered.has(next)) {
      entered.add(next);
      stack.push({ id: next, left: [...(needs.get(next) ?? [])] });
    }
  }
  return [...order];
}

/** Nodes that give pictures, by their classes. */
function stepOf(node: Node, visitor: Visitor): Step {
  if (isSampler(node)) return readSampler(node, visitor);
  const read = Object.hasOwn(readers, node.classType) ? readers[node.classType] : undefined;
  if (!read) throw unknownClass(node);
  return read(node, visitor);
}

const sides = { least: 0, most: 16_384 };
const factors = { least: 0.01, most: 8 };

const decoded = (node: Node, visitor: Visitor): Step => {
  visitor.touch(node, 'vae');
  return { type: 'same', from: visitor.pictures(node, 'samples') };
};
const encoded = (node: Node, visitor: Visitor): Step => {
  visitor.touch(node, 'vae');
  return { type: 'same', from: visitor.pictures(node, 'pixels') };
};
const scaledTo =
  (input: string) =>
  (node: Node, visitor: Visitor): Step => {
    const from = visitor.pictures(node, input);
    const [width, height] = ['width', 'height'].map((side) => numberOf(visitor.graph, node, side, sides) ?? 512);
    const fit = textOf(visitor.graph, node, 'crop') === 'center' ? 'cover' : 'fill';
    return { type: 'scale', from, to: { width: Math.round(width ?? 0), height: Math.round(height ?? 0) }, fit };
  };
const scaledBy =
  (input: string) =>
  (node: Node, visitor: Visitor): Step => {
    const from = visitor.pictures(node, input);
    return { type: 'scale', from, to: numberOf(visitor.graph, node, 'scale_by', factors) ?? 1, fit: 'fill' };
  };

const readers: Readonly<Record<string, (node: Node, visitor: Visitor) => Step>> = {
  VAEDecode: decoded,
  VAEDecodeTiled: decoded,
  VAEEncode: encoded,
  VAEEncodeTiled: encoded,
  ImageScale: scaledTo('image'),
  ImageScaleBy: scaledBy('image'),
  LatentUpscale: scaledTo('samples'),
  LatentUpscaleBy: scaledBy('samples'),
  LoadImage: (node, { graph, hasFile }) => {
    const name = textOf(graph, node, 'image') ?? '';
    if (!hasFile(name)) throw new NodeFault(node, noFile(name));
    return { type: 'load', name };
  },
  ETN_LoadImageBase64: (node, { graph }) => ({
    type: 'inline',
    picture: inlinePicture(node, textOf(graph, node, 'image'), 'image'),
  }),
  ImageUpscaleWithModel: (node, visitor) => {
    const link = linkOf(node, 'upscale_model');
    const loader = link && follow(visitor.graph, node, 'upscale_model', link);
    visitor.touch(node, 'upscale_model');
    const upscaler = loader ? (textOf(visitor.graph, loader, 'model_name') ?? '') : '';
    return { type: 'enlarge', from: visitor.pictures(node, 'image'), upscaler };
  },
};

function problemsByNode(faults: readonly { readonly fault: NodeFault; readonly output: string }[]): NodeErrors {
  const found = new Map<string, NodeProblems>();
  for (const { fault, output } of faults) {
    const { id, classType } = fault.node;
    const before = found.get(id);
    found.set(id, {
      errors: [...(before?.errors ?? []), { ...fault.problem, extra_info: fault.problem.extra_info ?? {} }],
      dependent_outputs: [...(before?.dependent_outputs ?? []), output],
      class_type: classType,
    });
  }
  return Object.fromEntries(found);
}
