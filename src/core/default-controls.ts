import type { GenerationControls } from './request.ts';
import { defaultSampling } from './sampling-fields.ts';

/** A generation of which nobody asked anything special. */
export const defaultControls: GenerationControls = {
  media: [],
  maxTokens: 2048,
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
};
