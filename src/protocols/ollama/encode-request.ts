import { type Content, type Message, plainText } from '../../chat/messages.ts';
import type { WireBody } from '../../chat/openai-request.ts';
import type { ChatRequest, OutputFormat } from '../../chat/request.ts';
import { isObject, tryParseJson } from '../../core/json.ts';
import type { GenerationControls, GenerationRequest, Medium } from '../../core/request.ts';
import {
  type EncodeOptions,
  encodeControls,
  encodeReasoning,
  renamed,
  samplerNames,
} from '../controls/encode-request.ts';
import { optionFields } from './options.ts';

/** The fields of the original API, with its options; all others are extensions. */
export const ownFields = [
  ...'model messages prompt raw images stream format think tools logprobs top_logprobs truncate options'.split(' '),
  ...Object.keys(optionFields).map((name) => `options.${name}`),
];

/** A chat as a body of `POST /api/chat`. */
export function encodeChatRequest(request: ChatRequest, { model, stream, defaults }: EncodeOptions): WireBody {
  const { conversation, controls } = request;
  const { tools, media } = conversation;
  const { think, rest } = encodeThink(request);
  return {
    model,
    messages: conversation.messages.map((message) => encodeMessage(message, media)),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({
        type: 'function',
        function: { name, ...(description !== undefined && { description }), parameters },
      })),
    }),
    ...encodeFormat(request.output),
    ...(think !== undefined && { think }),
    ...sharedFields(controls, defaults, rest),
    stream,
  };
}

/** A text as a body of `POST /api/generate`. There is no memory in this dialect: it is the beginning of the prompt. */
export function encodeGenerateRequest(
  request: GenerationRequest,
  { model, stream, defaults }: EncodeOptions,
): WireBody {
  const images = request.media.map(({ base64 }) => base64);
  return {
    model,
    prompt: request.memory + request.prompt,
    raw: true,
    ...(images.length > 0 && { images }),
    ...sharedFields(request, defaults, encodeReasoning(request.reasoning)),
    stream,
  };
}

function sharedFields(controls: GenerationControls, defaults: GenerationControls, more: WireBody): WireBody {
  const { logprobs } = controls;
  const options = { ...optionsOf(controls, defaults), ...more };
  return {
    ...(Object.keys(options).length > 0 && { options }),
    ...(controls.overflow !== defaults.overflow && { truncate: controls.overflow === 'trim' }),
    ...(logprobs !== undefined && { logprobs: true, top_logprobs: logprobs }),
  };
}

const { sampler_seed: seedName, ...ownSamplers } = samplerNames('ollama');
const otherNames = { max_length: 'num_predict', max_context_length: 'num_ctx', stop_sequence: 'stop' };

/** From the native name of each option to its name here. */
export const optionNames: Readonly<Record<string, string>> = { ...samplerNames('ollama'), ...otherNames };

function optionsOf(controls: GenerationControls, defaults: GenerationControls): WireBody {
  return renamed(encodeControls(controls, defaults), {
    ...ownSamplers,
    // 0 is a seed like any other here, and means none in the native API.
    ...(controls.sampling.seed !== 0 && seedName !== undefined && { sampler_seed: seedName }),
    ...otherNames,
  });
}

const levels: readonly unknown[] = ['low', 'medium', 'high', 'max'];

function encodeThink({ reasoning, templateVariables, controls }: ChatRequest) {
  const { effort } = reasoning;
  const { enable_thinking: enabled } = templateVariables;
  if (enabled === false) return { think: false, rest: {} };
  const { reasoning_effort: level, ...budget } = encodeReasoning(controls.reasoning, effort);
  if (enabled === true) return { think: levels.includes(effort) ? effort : true, rest: budget };
  return { think: undefined, rest: { ...budget, ...(level !== undefined && { reasoning_effort: level }) } };
}

function encodeFormat(output: OutputFormat): WireBody {
  if (output.type === 'text') return {};
  return { format: output.type === 'json' ? 'json' : output.schema };
}

function encodeMessage(message: Message, media: readonly Medium[]): WireBody {
  const images = imagesOf(message.content, media);
  const shared = { content: plainText(message.content), ...(images.length > 0 && { images }) };
  switch (message.role) {
    case 'system':
    case 'user':
      return { role: message.role, ...shared };
    case 'assistant': {
      const { reasoning, toolCalls = [] } = message;
      return {
        role: 'assistant',
        ...shared,
        ...(reasoning && { thinking: reasoning }),
        ...(toolCalls.length > 0 && {
          tool_calls: toolCalls.map(({ id, name, json }) => ({
            ...(id !== '' && { id }),
            function: { name, arguments: argumentsOf(json) },
          })),
        }),
      };
    }
    case 'tool': {
      const { callId, toolName } = message;
      return {
        role: 'tool',
        ...shared,
        ...(toolName !== undefined && { tool_name: toolName }),
        ...(callId !== undefined && { tool_call_id: callId }),
      };
    }
    case 'other':
      return { role: message.roleName, ...shared };
  }
}

/** Arguments that are not an object (yet) stay text. */
function argumentsOf(json: string): unknown {
  const parsed = tryParseJson(json);
  return isObject(parsed) ? parsed : json;
}

/** All media precede the text in this dialect. */
function imagesOf(content: Content, media: readonly Medium[]): readonly string[] {
  return content.flatMap((part) => (part.type === 'medium' ? (media[part.index]?.base64 ?? []) : []));
}
