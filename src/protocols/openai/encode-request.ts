import {
  encodeMessages,
  encodeOutput,
  encodeToolChoice,
  encodeTools,
  nativeMediaFields,
  type WireBody,
} from '../../chat/openai-request.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { GenerationControls, GenerationRequest } from '../../core/request.ts';
import {
  type EncodeOptions,
  encodeControls,
  encodeReasoning,
  placeholderField,
  renamed,
  samplerNames,
} from '../controls/encode-request.ts';

/** The fields of the original API; all others are extensions. */
export const chatOwnFields =
  'model messages tools tool_choice parallel_tool_calls response_format reasoning_effort max_tokens stream stop temperature top_p seed presence_penalty frequency_penalty logit_bias logprobs top_logprobs n'.split(
    ' ',
  );
export const completionOwnFields =
  'model prompt max_tokens stream stop temperature top_p seed presence_penalty frequency_penalty logit_bias logprobs n'.split(
    ' ',
  );

/** A chat as a body of `POST /v1/chat/completions`. */
export function encodeChatRequest(
  request: ChatRequest,
  options: EncodeOptions & { readonly replies: number },
): WireBody {
  const { conversation, controls, toolChoice, reasoning, templateVariables } = request;
  const { media, tools } = conversation;
  return {
    model: options.model,
    messages: encodeMessages(conversation.messages, media),
    ...(tools.length > 0 && { tools: encodeTools(tools) }),
    ...(toolChoice.type !== 'auto' && { tool_choice: encodeToolChoice(request) }),
    ...(!request.parallelToolCalls && { parallel_tool_calls: false }),
    ...encodeOutput(request.output),
    ...encodeReasoning(controls.reasoning, reasoning.effort),
    ...(!reasoning.separate && { reasoning_format: 'none' }),
    ...(Object.keys(templateVariables).length > 0 && { chat_template_kwargs: templateVariables }),
    ...(request.memory !== '' && { memory: request.memory }),
    ...(!request.continueAssistantTurn && { continue_assistant_turn: false }),
    ...ownControls(controls, options.defaults),
    ...(controls.logprobs !== undefined && { logprobs: true, top_logprobs: controls.logprobs }),
    ...(controls.promptLogprobs !== undefined && !options.stream && { prompt_logprobs: controls.promptLogprobs }),
    ...(options.replies > 1 && { n: options.replies }),
    ...(options.stream && { stream: true }),
  };
}

/** A text as a body of `POST /v1/completions`. */
export function encodeCompletionRequest(
  request: GenerationRequest,
  { defaults, model, stream }: EncodeOptions,
): WireBody {
  const { prompt, memory, promptTokens, logprobs, promptLogprobs } = request;
  return {
    model,
    prompt: promptTokens ?? prompt,
    ...(memory !== '' && { memory }),
    ...placeholderField(prompt, memory),
    ...nativeMediaFields(request.media),
    ...ownControls(request, defaults),
    ...encodeReasoning(request.reasoning),
    ...(logprobs !== undefined && { logprobs }),
    ...(promptLogprobs !== undefined && !stream && { prompt_logprobs: promptLogprobs }),
    ...(stream && { stream: true }),
  };
}

/** Seeds outside of this range would be read as others. */
const largestSeed = 2 ** 31 - 1;
const { sampler_seed: seedName, ...ownSamplers } = samplerNames('openai');

function ownControls(controls: GenerationControls, defaults: GenerationControls): WireBody {
  const { seed } = controls.sampling;
  const fits = seed === -1 || (seed > 0 && seed < largestSeed);
  return renamed(encodeControls(controls, defaults), {
    ...ownSamplers,
    ...(fits && seedName !== undefined && { sampler_seed: seedName }),
    max_length: 'max_tokens',
    stop_sequence: 'stop',
  });
}
