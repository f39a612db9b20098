import { defaultControls, type GenerationRequest } from '../request.ts';

/** A request with defaults for everything but its text and length. */
export function plainRequest(
  prompt: string,
  maxTokens: number,
  changes: Partial<GenerationRequest> = {},
): GenerationRequest {
  return { ...defaultControls, prompt, memory: '', maxTokens, ...changes };
}
