import { type Content, type Message, type Tool, wordsOf } from '../../chat/messages.ts';
import type { ChatRequest, OutputFormat, ToolChoice } from '../../chat/request.ts';
import type { GenerationControls, GenerationRequest, Medium } from '../../core/request.ts';
import {
  dataUrl,
  type EncodeOptions,
  encodeControls,
  encodeReasoning,
  nativeMediaFields,
  placeholderField,
  renamed,
  samplerNames,
  type WireBody,
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
    ...(tools.length > 0 && { tools: tools.map(encodeTool) }),
    ...(toolChoice.type !== 'auto' && { tool_choice: encodeChoice(toolChoice) }),
    ...(!request.parallelToolCalls && { parallel_tool_calls: false }),
    ...encodeOutput(request.output),
    ...encodeReasoning(controls.reasoning, reasoning.effort),
    ...(!reasoning.separate && { reasoning_format: 'none' }),
    ...(Object.keys(templateVariables).length > 0 && { chat_template_kwargs: templateVariables }),
    ...(request.memory !== '' && { memory: request.memory }),
    ...(!request.continueAssistantTurn && { continue_assistant_turn: false }),
    ...ownControls(controls, options.usual),
    ...(controls.logprobs !== undefined && { logprobs: true, top_logprobs: controls.logprobs }),
    ...(controls.promptLogprobs !== undefined && !options.stream && { prompt_logprobs: controls.promptLogprobs }),
    ...(options.replies > 1 && { n: options.replies }),
    ...(options.stream && { stream: true }),
  };
}

/** A text as a body of `POST /v1/completions`. */
export function encodeCompletionRequest(request: GenerationRequest, { usual, model, stream }: EncodeOptions): WireBody {
  const { prompt, memory, promptTokens, logprobs, promptLogprobs } = request;
  return {
    model,
    prompt: promptTokens ?? prompt,
    ...(memory !== '' && { memory }),
    ...placeholderField(prompt, memory),
    ...nativeMediaFields(request.media),
    ...ownControls(request, usual),
    ...encodeReasoning(request.reasoning),
    ...(logprobs !== undefined && { logprobs }),
    ...(promptLogprobs !== undefined && !stream && { prompt_logprobs: promptLogprobs }),
    ...(stream && { stream: true }),
  };
}

/** Seeds outside of this range would be read as others. */
const largestSeed = 2 ** 31 - 1;
const { sampler_seed: seedName, ...ownSamplers } = samplerNames('openai');

function ownControls(controls: GenerationControls, usual: GenerationControls): WireBody {
  const { seed } = controls.sampling;
  const fits = seed === -1 || (seed > 0 && seed < largestSeed);
  return renamed(encodeControls(controls, usual), {
    ...ownSamplers,
    ...(fits && seedName !== undefined && { sampler_seed: seedName }),
    max_length: 'max_tokens',
    stop_sequence: 'stop',
  });
}

function encodeMessages(messages: readonly Message[], media: readonly Medium[]): readonly WireBody[] {
  const toolNames = new Map<string, string>();
  return messages.map((message) => encodeMessage(message, encodeContent(message.content, media), toolNames));
}

/** `toolNames`: of the calls before, by their ids. Results need no name then. */
function encodeMessage(message: Message, content: unknown, toolNames: Map<string, string>): WireBody {
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, content };
    case 'assistant': {
      const { reasoning, toolCalls = [] } = message;
      for (const { id, name } of toolCalls) toolNames.set(id, name);
      const silent = message.content.length === 0 && toolCalls.length > 0;
      const calls = toolCalls.map(({ id, name, json }) => ({
        id,
        type: 'function',
        function: { name, arguments: json },
      }));
      return {
        role: 'assistant',
        content: silent ? null : content,
        ...(reasoning && { reasoning_content: reasoning }),
        ...(calls.length > 0 && { tool_calls: calls }),
      };
    }
    case 'tool': {
      const { callId, toolName } = message;
      const known = callId === undefined ? undefined : toolNames.get(callId);
      return {
        role: 'tool',
        ...(callId !== undefined && { tool_call_id: callId }),
        ...(toolName !== undefined && toolName !== known && { name: toolName }),
        content,
      };
    }
    case 'other':
      return { role: message.roleName, content };
  }
}

function encodeContent(content: Content, media: readonly Medium[]): string | readonly WireBody[] {
  if (content.length < 2 && content.every(({ type }) => type === 'text')) return wordsOf(content);
  return content.map((part) => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const medium = media[part.index];
    if (!medium) return { type: 'text', text: '' };
    if (medium.kind === 'image') return { type: 'image_url', image_url: { url: dataUrl(medium) } };
    return { type: 'input_audio', input_audio: { data: medium.base64, format: medium.format ?? 'wav' } };
  });
}

function encodeTool({ name, description, parameters }: Tool): WireBody {
  return { type: 'function', function: { name, ...(description !== undefined && { description }), parameters } };
}

function encodeChoice(choice: ToolChoice): unknown {
  return choice.type === 'named' ? { type: 'function', function: { name: choice.name } } : choice.type;
}

function encodeOutput(output: OutputFormat): WireBody {
  switch (output.type) {
    case 'text':
      return {};
    case 'json':
      return { response_format: { type: 'json_object' } };
    case 'schema': {
      const schema = { name: 'reply', schema: output.schema };
      return { response_format: { type: 'json_schema', json_schema: schema } };
    }
  }
}
