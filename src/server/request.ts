import { defaultControls, type GenerationRequest } from '../core/request.ts';

/** A request as the terminal modes make it: all defaults, only the text is theirs. */
export function plainRequest(
  prompt: string,
  maxTokens: number,
  changes: Partial<GenerationRequest> = {},
): GenerationRequest {
  return { ...defaultControls, prompt, memory: '', maxTokens, ...changes };
}
