import type { Channel } from '../../core/pictures.ts';
import { NodeFault } from './errors.ts';
import { missing, type Node, unknownClass } from './graph.ts';
import { inlinePicture, noFile } from './node-pictures.ts';
import type { MaskPlan } from './plan.ts';
import { textOf } from './values.ts';
import type { Visitor } from './visitor.ts';

/** The mask behind an input, which must be there. */
export function readMask(node: Node, input: string, visitor: Visitor): MaskPlan {
  const mask = visitor.through(node, input, (found, slot) => maskOf(found, slot, visitor));
  if (!mask) throw missing(node, input);
  return mask;
}

function maskOf(node: Node, slot: number, visitor: Visitor): MaskPlan {
  const { graph } = visitor;
  switch (node.classType) {
    case 'LoadImage':
      if (slot !== 1) throw wrongOutput(node);
      return { from: named(node, visitor), channel: 'alpha', inverted: true };
    case 'LoadImageMask': {
      const channel = channels.find((each) => each === textOf(graph, node, 'channel')) ?? 'alpha';
      return { from: named(node, visitor), channel, inverted: channel === 'alpha' };
    }
    case 'ETN_LoadMaskBase64':
      return {
        from: { picture: inlinePicture(node, textOf(graph, node, 'mask'), 'mask') },
        channel: 'red',
        inverted: false,
      };
    case 'InvertMask': {
      const mask = readMask(node, 'mask', visitor);
      return { ...mask, inverted: !mask.inverted };
    }
    default:
      throw unknownClass(node);
  }
}

const channels: readonly Channel[] = ['alpha', 'red', 'green', 'blue'];

function named(node: Node, { graph, hasFile }: Visitor): { readonly name: string } {
  const name = textOf(graph, node, 'image') ?? '';
  if (!hasFile(name)) throw new NodeFault(node, noFile(name));
  return { name };
}

function wrongOutput(node: Node): NodeFault {
  return new NodeFault(node, {
    type: 'return_type_mismatch',
    message: 'Return type mismatch between linked nodes',
    details: 'mask, received_type(IMAGE) mismatch input_type(MASK)',
  });
}
