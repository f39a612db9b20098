import { text } from '../../../chat/messages.ts';
import type { ChatRequest } from '../../../chat/request.ts';
import { defaultControls, type GenerationControls, type GenerationRequest } from '../../../core/request.ts';
import type { Sampling } from '../../../core/sampling-fields.ts';

export function controlsWith(
  changes: Partial<GenerationControls> = {},
  sampling: Partial<Sampling> = {},
): GenerationControls {
  return { ...defaultControls, ...changes, sampling: { ...defaultControls.sampling, ...sampling } };
}

export function textRequest(changes: Partial<GenerationRequest> = {}): GenerationRequest {
  return { ...defaultControls, maxTokens: 16, prompt: 'Once', memory: '', ...changes };
}

export function chatRequest(changes: Partial<ChatRequest> = {}): ChatRequest {
  return {
    conversation: { messages: [{ role: 'user', content: text('Hi') }], media: [], tools: [] },
    continueAssistantTurn: true,
    toolChoice: { type: 'auto' },
    parallelToolCalls: true,
    output: { type: 'text' },
    reasoning: { effort: undefined, separate: true },
    templateVariables: {},
    memory: '',
    controls: { ...defaultControls, maxTokens: 16 },
    ...changes,
  };
}
