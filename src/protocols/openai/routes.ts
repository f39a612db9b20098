import type { Endpoint } from '../../http/call.ts';
import { type ModelsParts, modelsEndpoints } from './models.ts';

export type OpenaiParts = ModelsParts;

export function openaiEndpoints(parts: OpenaiParts): Endpoint[] {
  return modelsEndpoints(parts);
}
