import { type Content, type Message, plainText } from '../../chat/messages.ts';
import { mediaType, type WireBody } from '../../chat/openai-request.ts';
import type { ChatRequest, ToolChoice } from '../../chat/request.ts';
import { tryParseJson } from '../../core/json.ts';
import type { Medium } from '../../core/request.ts';
import { type EncodeOptions, encodeControls, encodeReasoning, renamed } from '../controls/encode-request.ts';

/** The fields of the original API; all others are extensions. */
export const ownFields =
  'model system messages tools tool_choice max_tokens stream stop_sequences temperature top_p top_k thinking output_config'.split(
    ' ',
  );

/** A chat as a body of `POST /v1/messages`. */
export function encodeRequest(request: ChatRequest, { model, stream, defaults }: EncodeOptions): WireBody {
  const { conversation, controls } = request;
  const { tools } = conversation;
  const first = conversation.messages.findIndex(({ role }) => role !== 'system');
  const spoken = first < 0 ? [] : conversation.messages.slice(first);
  const system = conversation.messages.slice(0, first < 0 ? undefined : first).map(({ content }) => plainText(content));
  const format =
    request.output.type === 'text'
      ? undefined
      : { type: 'json_schema', schema: request.output.type === 'schema' ? request.output.schema : { type: 'object' } };
  const { thinking, effort, rest } = encodeThinking(request);
  const config = { ...(effort !== undefined && { effort }), ...(format && { format }) };
  return {
    model,
    ...(system.length > 0 && { system: system.length === 1 ? system[0] : system.map(textBlock) }),
    messages: encodeTurns(spoken, conversation.media),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters })),
    }),
    ...encodeChoice(request.toolChoice, request.parallelToolCalls),
    ...(thinking && { thinking }),
    ...(Object.keys(config).length > 0 && { output_config: config }),
    ...(request.memory !== '' && { memory: request.memory }),
    ...renamed(encodeControls(controls, defaults), {
      max_length: 'max_tokens',
      stop_sequence: 'stop_sequences',
      sampler_seed: 'seed',
    }),
    ...rest,
    // The only number of alternatives that the native field means.
    ...(controls.logprobs === 10 && { logprobs: true }),
    ...(stream && { stream: true }),
  };
}

const levels: readonly unknown[] = ['low', 'medium', 'high'];

/** The fields of this dialect where they say it; otherwise the native ones, which count only without them. */
function encodeThinking({ reasoning, templateVariables, controls }: ChatRequest) {
  const { effort } = reasoning;
  const { reasoning: budget } = controls;
  if (effort === 'none') return { thinking: { type: 'disabled' }, rest: {} };
  const level = levels.includes(effort) ? effort : undefined;
  if (templateVariables.enable_thinking === true) {
    const tokens = budget?.type === 'tokens' ? { budget_tokens: budget.tokens } : {};
    return { thinking: { type: 'enabled', ...tokens }, effort: level, rest: {} };
  }
  if (level !== undefined && budget?.type !== 'tokens') return { effort: level, rest: {} };
  return { rest: encodeReasoning(budget, effort) };
}

const choices = { auto: 'auto', required: 'any', none: 'none' } as const;

function encodeChoice(choice: ToolChoice, parallel: boolean): WireBody {
  if (choice.type === 'auto' && parallel) return {};
  const chosen = choice.type === 'named' ? { type: 'tool', name: choice.name } : { type: choices[choice.type] };
  return { tool_choice: { ...chosen, ...(!parallel && { disable_parallel_tool_use: true }) } };
}

const textBlock = (text: string): WireBody => ({ type: 'text', text });

/** Results of tools are blocks of the user's turn, and come first in it. */
function encodeTurns(messages: readonly Message[], media: readonly Medium[]): readonly WireBody[] {
  const turns: { role: string; content: WireBody[] }[] = [];
  for (const [index, message] of messages.entries()) {
    const role = message.role === 'assistant' || message.role === 'system' ? message.role : 'user';
    const blocks = encodeMessage(message, media);
    const last = turns.at(-1);
    // A turn of the user goes on after the results of tools; other messages stay apart.
    if (role === 'user' && last?.role === 'user' && messages[index - 1]?.role === 'tool') last.content.push(...blocks);
    else turns.push({ role, content: [...blocks] });
  }
  return turns.map(({ role, content }) => {
    const [only] = content;
    const plain = content.length === 0 || (content.length === 1 && only?.type === 'text');
    return { role, content: plain ? (only?.text ?? '') : content };
  });
}

function encodeMessage(message: Message, media: readonly Medium[]): readonly WireBody[] {
  const content = encodeContent(message.content, media);
  if (message.role === 'tool') {
    const result = message.content.every(({ type }) => type === 'text') ? plainText(message.content) : content;
    return [{ type: 'tool_result', tool_use_id: message.callId ?? '', content: result }];
  }
  if (message.role !== 'assistant') return content;
  const { reasoning, toolCalls = [] } = message;
  return [
    ...(reasoning ? [{ type: 'thinking', thinking: reasoning, signature: '' }] : []),
    ...content,
    ...toolCalls.map(({ id, name, json }) => ({ type: 'tool_use', id, name, input: tryParseJson(json) ?? {} })),
  ];
}

/** This dialect has no audio input. */
function encodeContent(content: Content, media: readonly Medium[]): readonly WireBody[] {
  return content.flatMap((part): readonly WireBody[] => {
    if (part.type === 'text') return [textBlock(part.text)];
    const medium = media[part.index];
    if (medium?.kind !== 'image') return [];
    return [{ type: 'image', source: { type: 'base64', media_type: mediaType(medium), data: medium.base64 } }];
  });
}
