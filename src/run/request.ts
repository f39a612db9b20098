import type { GenerationRequest } from '../core/request.ts';
import { defaultSampling } from '../core/sampling-fields.ts';

/** A request as the terminal modes make it: all defaults, only the text is theirs. */
export function plainRequest(
  prompt: string,
  maxTokens: number,
  changes: Partial<GenerationRequest> = {},
): GenerationRequest {
  return {
    prompt,
    memory: '',
    media: [],
    maxTokens,
    maxContext: undefined,
    overflow: 'trim',
    sampling: defaultSampling,
    logitBias: [],
    bannedTokens: [],
    bannedStrings: [],
    grammar: undefined,
    guidance: undefined,
    stop: [],
    trimStop: true,
    endTokens: 'stop',
    renderSpecial: false,
    logprobs: undefined,
    reasoning: undefined,
    ...changes,
  };
}
