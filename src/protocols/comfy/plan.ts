import type { Channel, Fit, Size } from '../../core/pictures.ts';
import type { AskedPicture } from '../pictures/request.ts';
import type { SentPicture } from '../pictures/sent-picture.ts';
import type { Node } from './graph.ts';

/** The work of one node. Each step gives pictures: latents are kept as pictures too. */
export type Step =
  | { readonly type: 'load'; readonly name: string }
  | { readonly type: 'inline'; readonly picture: SentPicture }
  | { readonly type: 'same'; readonly from: string }
  | { readonly type: 'scale'; readonly from: string; readonly to: Size | number; readonly fit: Fit }
  | { readonly type: 'enlarge'; readonly from: string; readonly upscaler: string }
  | {
      readonly type: 'draw';
      /** Without a size, that of the initial picture. */
      readonly asked: AskedPicture;
      readonly from?: string | undefined;
      readonly mask?: MaskPlan | undefined;
      /** What cannot be done as requested. */
      readonly notes: readonly string[];
    };

/** An inpainting mask: a channel of a picture that was sent. */
export interface MaskPlan {
  readonly from: { readonly name: string } | { readonly picture: SentPicture };
  readonly channel: Channel;
  readonly inverted: boolean;
}

export interface Output {
  readonly id: string;
  readonly kind: 'output' | 'temp' | 'socket';
  readonly prefix: string;
  /** The node that gives the pictures. */
  readonly from: string;
  /** All nodes that it depends on, in topological order. */
  readonly order: readonly string[];
}

export interface Plan {
  readonly steps: ReadonlyMap<string, Step>;
  readonly outputs: readonly Output[];
}

/** How readers of nodes follow the inputs of a node. Throws for cycles. */
export interface Visitor {
  /** The id of the node that gives the pictures of this input, which must be linked. */
  pictures(node: Node, input: string): string;
  /** Reads the node behind this input, if it is linked. */
  through<Value>(node: Node, input: string, look: (found: Node, slot: number) => Value): Value | undefined;
  /** Only records the nodes behind this input as dependencies. */
  touch(node: Node, input: string): void;
  /** Whether a picture of this name was sent. */
  readonly hasFile: (name: string) => boolean;
  /** File names of the LoRAs of the model. */
  readonly loras: readonly string[];
}
