import { asAppError } from '../../core/errors.ts';
import { readPicture, type SentPicture } from '../pictures/sent-picture.ts';
import { type GraphProblem, NodeFault } from './errors.ts';
import { missing, type Node } from './graph.ts';

export function noFile(name: string): GraphProblem {
  return {
    type: 'custom_validation_failed',
    message: 'Custom validation failed for node',
    details: `image - Invalid image file: ${name.slice(0, 200)}`,
    extra_info: { input_name: 'image', received_value: name.slice(0, 200) },
  };
}

/** A picture that stands in the graph itself. */
export function inlinePicture(node: Node, data: string | undefined, input: string): SentPicture {
  if (data === undefined || data === '') throw missing(node, input);
  try {
    return readPicture(data, input);
  } catch (error) {
    const details = asAppError(error).message;
    throw new NodeFault(node, {
      type: 'custom_validation_failed',
      message: 'Custom validation failed for node',
      details,
    });
  }
}
