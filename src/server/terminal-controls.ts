import type { GenerationControls } from '../core/request.ts';
import { decodeControls, readControls } from '../protocols/controls/decode.ts';
import type { ModelContext } from './model-context.ts';

/** The controls of the terminal modes: those of a request without fields. */
export function terminalControls({
  applyDefaults,
  controlParts,
}: Pick<ModelContext, 'applyDefaults' | 'controlParts'>): GenerationControls {
  return decodeControls(readControls(applyDefaults({})), controlParts());
}
