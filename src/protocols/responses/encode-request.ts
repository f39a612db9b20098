import { type Content, type Message, plainText } from '../../chat/messages.ts';
import { audioFormat, dataUrl, type WireBody } from '../../chat/openai-request.ts';
import type { ChatRequest, OutputFormat, ToolChoice } from '../../chat/request.ts';
import type { Medium } from '../../core/request.ts';
import { type EncodeOptions, encodeControls, encodeReasoning, renamed } from '../controls/encode-request.ts';

/** The fields of the original API; all others are extensions. */
export const ownFields =
  'model instructions input tools tool_choice parallel_tool_calls text reasoning include top_logprobs max_output_tokens truncation temperature top_p stream'.split(
    ' ',
  );

/** A chat as a body of `POST /v1/responses`. */
export function encodeRequest(request: ChatRequest, { model, stream, defaults }: EncodeOptions): WireBody {
  const { conversation, controls, toolChoice, templateVariables } = request;
  const [first, ...others] = conversation.messages;
  const instructed = first?.role === 'system' && first.content.length === 1 && first.content[0]?.type === 'text';
  const messages = instructed ? others : conversation.messages;
  const { tools } = conversation;
  const { reasoning_effort: effort, ...budget } = encodeReasoning(controls.reasoning, request.reasoning.effort);
  return {
    model,
    ...(instructed && { instructions: plainText(first.content) }),
    input: messages.flatMap((message) => encodeItems(message, conversation.media)),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => {
        return { type: 'function', name, description, parameters, strict: false };
      }),
    }),
    ...(toolChoice.type !== 'auto' && { tool_choice: encodeChoice(toolChoice) }),
    ...(!request.parallelToolCalls && { parallel_tool_calls: false }),
    ...encodeFormat(request.output),
    ...(effort !== undefined && { reasoning: { effort } }),
    ...budget,
    ...(!request.reasoning.separate && { encapsulate_thinking: false }),
    ...(Object.keys(templateVariables).length > 0 && { chat_template_kwargs: templateVariables }),
    ...(request.memory !== '' && { memory: request.memory }),
    ...(!request.continueAssistantTurn && { continue_assistant_turn: false }),
    ...renamed(encodeControls(controls, defaults), {
      max_length: 'max_output_tokens',
      stop_sequence: 'stop',
      sampler_seed: 'seed',
    }),
    ...(controls.overflow !== defaults.overflow && { truncation: controls.overflow === 'trim' ? 'auto' : 'disabled' }),
    ...(controls.logprobs !== undefined && {
      include: ['message.output_text.logprobs'],
      top_logprobs: controls.logprobs,
    }),
    ...(stream && { stream: true }),
  };
}

function encodeChoice(choice: ToolChoice): unknown {
  return choice.type === 'named' ? { type: 'function', name: choice.name } : choice.type;
}

function encodeFormat(output: OutputFormat): WireBody {
  switch (output.type) {
    case 'text':
      return {};
    case 'json':
      return { text: { format: { type: 'json_object' } } };
    case 'schema':
      return { text: { format: { type: 'json_schema', name: 'reply', schema: output.schema } } };
  }
}

/** Thinking and calls are items of their own in this dialect. */
function encodeItems(message: Message, media: readonly Medium[]): readonly WireBody[] {
  switch (message.role) {
    case 'system':
    case 'user':
      return [{ role: message.role, content: encodeContent(message.content, media, 'input_text') }];
    case 'assistant': {
      const { content, reasoning, toolCalls = [] } = message;
      const silent = content.length === 0 && (toolCalls.length > 0 || reasoning);
      return [
        ...(reasoning ? [{ type: 'reasoning', summary: [{ type: 'summary_text', text: reasoning }] }] : []),
        ...(silent ? [] : [{ role: 'assistant', content: encodeContent(content, media, 'output_text') }]),
        ...toolCalls.map(({ id, name, json }) => ({ type: 'function_call', call_id: id, name, arguments: json })),
      ];
    }
    case 'tool': {
      const output = encodeContent(message.content, media, 'input_text');
      return [{ type: 'function_call_output', call_id: message.callId ?? '', output }];
    }
    case 'other':
      return [{ role: 'user', content: encodeContent(message.content, media, 'input_text') }];
  }
}

function encodeContent(
  content: Content,
  media: readonly Medium[],
  type: 'input_text' | 'output_text',
): string | readonly WireBody[] {
  if (content.length < 2 && content.every((part) => part.type === 'text')) return plainText(content);
  return content.map((part) => {
    if (part.type === 'text') return { type, text: part.text };
    const medium = media[part.index];
    if (!medium) return { type, text: '' };
    if (medium.kind === 'image') return { type: 'input_image', image_url: dataUrl(medium) };
    return { type: 'input_audio', input_audio: { data: medium.base64, format: audioFormat(medium) } };
  });
}
