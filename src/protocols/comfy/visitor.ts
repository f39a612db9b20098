import type { Graph, Node } from './graph.ts';

/** What the readers of the nodes go on with. Whoever goes in a circle is stopped by it. */
export interface Visitor {
  readonly graph: Graph;
  /** The node whose pictures stand behind this input, which must be there. */
  pictures(node: Node, input: string): string;
  /** Looks at the node behind this input, where there is one; nodes are done in the order in which looks end. */
  through<Value>(node: Node, input: string, look: (found: Node, slot: number) => Value): Value | undefined;
  /** Goes to whatever stands behind this input, where something does. */
  touch(node: Node, input: string): void;
  /** Whether a picture of this name was sent. */
  readonly hasFile: (name: string) => boolean;
  /** The files of what the model may be changed by. */
  readonly loras: readonly string[];
}
