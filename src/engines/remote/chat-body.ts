import { text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import { type Body, type ControlFacts, type ControlsBody, controlsBody } from './controls-body.ts';
import { kinds } from './kinds.ts';
import { messagesBody } from './messages-body.ts';

/** A turn of a chat for `POST /v1/chat/completions` of the other side; the name of the model is put in front of it. */
export function chatBody(request: ChatRequest, facts: ControlFacts): ControlsBody {
  const { controls } = request;
  const own = controlsBody(controls, facts);
  const thinking = thinkingBody(request, facts);
  const continued = continuedBody(request, facts);
  return {
    fields: {
      ...promptBody(request, facts),
      stream: true,
      stream_options: { include_usage: true },
      ...own.fields,
      ...(controls.logprobs === undefined ? {} : { logprobs: true, top_logprobs: controls.logprobs }),
      ...outputBody(request),
      ...thinking.fields,
      ...continued.fields,
    },
    unheeded: [...own.unheeded, ...thinking.unheeded, ...continued.unheeded],
  };
}

/** What decides about the prompt: the same for an answer and for counting its tokens. */
export function promptBody(request: ChatRequest, { kind }: Pick<ControlFacts, 'kind'>): Body {
  const { conversation, memory } = request;
  const ownMemory = memory !== '' && kinds[kind].native;
  const led = memory === '' || ownMemory ? conversation.messages : withMemory(request);
  return {
    messages: messagesBody({ messages: led, media: conversation.media }),
    ...(ownMemory ? { memory } : {}),
    ...toolsBody(request),
  };
}

/** Text in front of everything is a first turn of the system where there is no field for it. */
function withMemory({ conversation: { messages }, memory }: ChatRequest): ChatRequest['conversation']['messages'] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: text(memory) }, ...messages];
  return [{ role: 'system', content: [...text(`${memory}\n`), ...first.content] }, ...rest];
}

function toolsBody({ conversation: { tools }, toolChoice, parallelToolCalls }: ChatRequest): Body {
  if (tools.length === 0) return {};
  const choice =
    toolChoice.type === 'named' ? { type: 'function', function: { name: toolChoice.name } } : toolChoice.type;
  return {
    tools: tools.map(({ name, description, parameters }) => ({
      type: 'function',
      function: { name, ...(description ? { description } : {}), parameters },
    })),
    tool_choice: choice,
    ...(parallelToolCalls ? {} : { parallel_tool_calls: false }),
  };
}

function outputBody({ output }: ChatRequest): Body {
  switch (output.type) {
    case 'text':
      return {};
    case 'json':
      return { response_format: { type: 'json_object' } };
    case 'schema':
      return {
        response_format: { type: 'json_schema', json_schema: { name: 'reply', schema: output.schema, strict: true } },
      };
  }
}

function thinkingBody({ reasoning, templateVariables, controls }: ChatRequest, { kind }: ControlFacts): ControlsBody {
  const { effort: takesEffort, templateVariables: takesVariables, native } = kinds[kind];
  const { effort } = reasoning;
  const budget = controls.reasoning?.type === 'tokens' ? controls.reasoning.tokens : undefined;
  const silent = effort === 'none' && takesVariables && templateVariables.enable_thinking === undefined;
  const variables = { ...templateVariables, ...(silent ? { enable_thinking: false } : {}) };
  const hasVariables = Object.keys(variables).length > 0;
  const saysEffort = effort !== undefined && takesEffort && (effort !== 'none' || !takesVariables || native);
  return {
    fields: {
      ...(saysEffort ? { reasoning_effort: effort } : {}),
      ...(hasVariables && takesVariables ? { chat_template_kwargs: variables } : {}),
      ...(budget !== undefined && native ? { thinking_budget_tokens: budget } : {}),
    },
    unheeded: [
      ...(effort === undefined || saysEffort || silent ? [] : ['reasoning_effort']),
      ...(hasVariables && !takesVariables ? ['chat_template_kwargs'] : []),
      ...(budget === undefined || native ? [] : ['thinking_budget_tokens']),
    ],
  };
}

/** Only a last turn of the assistant makes a difference. */
function continuedBody({ conversation, continueAssistantTurn }: ChatRequest, { kind }: ControlFacts): ControlsBody {
  const { continues, native } = kinds[kind];
  if (conversation.messages.at(-1)?.role !== 'assistant') return { fields: {}, unheeded: [] };
  if (continueAssistantTurn) {
    return continues ? { fields: continues, unheeded: [] } : { fields: {}, unheeded: ['continue_assistant_turn'] };
  }
  return { fields: native ? { continue_assistant_turn: false } : {}, unheeded: [] };
}
