import { text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import type { ResponseStore, StoredItem } from '../../store/responses.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import { clamp, isAbsent, readFlag, readInteger, readText } from '../controls/fields.ts';
import { readStop } from '../controls/table.ts';
import { chatParts, type DialectParts, dialectControls, reasoningControl } from '../dialect.ts';
import { Attachments } from '../media.ts';
import { readConversation } from './conversation.ts';
import {
  invalid,
  optionalFlag,
  optionalInteger,
  optionalList,
  optionalNumber,
  optionalObject,
  optionalText,
  optionalWord,
} from './fields.ts';
import { decodeFormat } from './format.ts';
import { type InputItem, readInput } from './input.ts';
import type { ResponseSettings } from './response.ts';
import { chooseTools, type OfferedTool, readTools } from './tools.ts';

export interface DecodeParts extends DialectParts {
  readonly store: ResponseStore;
}

export interface DecodedRequest {
  /** Without its media, which may have to be fetched first. */
  readonly chat: ChatRequest;
  readonly attachments: Attachments;
  readonly settings: ResponseSettings;
  readonly offered: readonly OfferedTool[];
  /** The conversation before this request, and what this request adds to it. */
  readonly context: readonly StoredItem[];
  readonly input: readonly StoredItem[];
  readonly stream: boolean;
  readonly withLogprobs: boolean;
  readonly withSealedThinking: boolean;
  /** What of the input and the tools had no effect. */
  readonly skipped: readonly string[];
}

export function* decode(body: JsonObject, own: DecodeParts): Sliced<DecodedRequest> {
  const parts = chatParts(own, body);
  refuseConversations(body);
  const previous = previousResponse(body, parts.store);
  const context = previous ? [...previous.context, ...previous.input, ...previous.output] : [];
  const read = yield* readInput(body, { newId: parts.newId, storedItem: (id) => parts.store.item(id) });
  const toolbox = readTools(body);
  const { offered, choice, echo: toolChoice } = chooseTools(body, toolbox);
  const attachments = new Attachments(parts.text.state(), { addresses: true });
  const earlier = context.map((item): InputItem => ({ item, at: 'previous_response_id' }));
  const { messages, skipped } = yield* readConversation([...earlier, ...read.items], offered, attachments);
  if (messages.length === 0) throw invalid('input', 'a string or items that say something');

  const instructions = optionalText(body, 'instructions');
  const include = decodeInclude(body);
  const reasoning = optionalObject(body, 'reasoning') ?? {};
  const format = decodeFormat(body, parts.controlParts().schemaToGrammar);
  const controls = decodeOwnControls(body, parts, include.logprobs);
  const { effort, budget } = decodeReasoning(body, reasoning);
  const parallel = optionalFlag(body, 'parallel_tool_calls') ?? true;
  const stream = optionalFlag(body, 'stream') ?? false;
  const store = optionalFlag(body, 'store') ?? true;

  return {
    attachments,
    chat: {
      conversation: {
        messages: instructions ? [{ role: 'system', content: text(instructions) }, ...messages] : messages,
        media: [],
        tools: offered.map(({ tool }) => tool),
      },
      continueAssistantTurn: readFlag(body, 'continue_assistant_turn', true),
      toolChoice: choice,
      parallelToolCalls: parallel,
      output: format.output,
      reasoning: { effort, separate: readFlag(body, 'encapsulate_thinking', true) },
      templateVariables: optionalObject(body, 'chat_template_kwargs') ?? {},
      memory: readText(body, 'memory'),
      controls: { ...controls, reasoning: budget ?? controls.reasoning },
    },
    settings: {
      background: decodeBackground(body, { stream, store }),
      instructions: instructions ?? null,
      max_output_tokens: optionalInteger(body, 'max_output_tokens') ?? null,
      max_tool_calls: optionalInteger(body, 'max_tool_calls') ?? null,
      parallel_tool_calls: parallel,
      previous_response_id: previous?.id ?? null,
      prompt_cache_key: optionalText(body, 'prompt_cache_key') ?? null,
      reasoning: {
        effort: optionalText(reasoning, 'effort', 'reasoning') ?? null,
        summary: optionalText(reasoning, 'summary', 'reasoning') ?? null,
      },
      safety_identifier: optionalText(body, 'safety_identifier') ?? null,
      store,
      temperature: controls.sampling.temperature,
      text: { format: format.echo, verbosity: format.verbosity },
      tool_choice: toolChoice,
      tools: toolbox.echo,
      top_logprobs: topLogprobs(body),
      top_p: controls.sampling.topP,
      presence_penalty: controls.sampling.presencePenalty,
      frequency_penalty: controls.sampling.frequencyPenalty,
      truncation: controls.overflow === 'trim' ? 'auto' : 'disabled',
      metadata: optionalObject(body, 'metadata') ?? {},
    },
    offered,
    context,
    input: read.items.map(({ item }) => item),
    stream,
    withLogprobs: include.logprobs,
    withSealedThinking: include.sealedThinking,
    skipped: [
      ...toolbox.skipped.map((kind) => `tools (${kind})`),
      ...read.missing.map((at) => `${at} (item_reference)`),
      ...skipped.filter((place) => place.startsWith('input')),
    ],
  };
}

/** The conversations of this dialect are a store of their own, which this server does not have. */
function refuseConversations(body: JsonObject): void {
  if (isAbsent(body.conversation)) return;
  throw new AppError('unsupported', {
    feature: 'conversation',
    instead: 'go on from an answer by previous_response_id',
  });
}

function previousResponse(body: JsonObject, store: ResponseStore) {
  const id = body.previous_response_id;
  if (isAbsent(id)) return undefined;
  const found = typeof id === 'string' ? store.get(id) : undefined;
  const unfinished = found?.response.status === 'queued' || found?.response.status === 'in_progress';
  if (!found || unfinished) throw invalid('previous_response_id', 'the id of a finished response that is still stored');
  return found;
}

/** This dialect's own names for controls, over the native ones that the request may carry beside them. */
function decodeOwnControls(body: JsonObject, parts: DecodeParts, logprobs: boolean): GenerationControls {
  // These have their native names; here they are only held to their types.
  for (const field of ['temperature', 'top_p', 'presence_penalty', 'frequency_penalty']) optionalNumber(body, field);
  const controls = dialectControls(readControls(body), parts);
  const maxTokens = optionalInteger(body, 'max_output_tokens');
  const truncation = optionalWord(body, 'truncation', ['disabled', 'auto']);
  return {
    ...controls,
    maxTokens: maxTokens === undefined ? controls.maxTokens : limitTokens(maxTokens, parts.controlParts()),
    overflow: truncation === undefined ? controls.overflow : truncation === 'auto' ? 'trim' : 'refuse',
    stop: isAbsent(body.stop) ? controls.stop : readStop(body.stop, 'stop'),
    logprobs: logprobs ? topLogprobs(body) : controls.logprobs,
  };
}

function topLogprobs(body: JsonObject): number {
  return clamp(optionalInteger(body, 'top_logprobs') ?? 0, 0, 20);
}

function decodeReasoning(body: JsonObject, reasoning: JsonObject) {
  const native = typeof body.reasoning_effort === 'string' ? body.reasoning_effort : undefined;
  const tokens = readInteger(body.thinking_budget_tokens, -1);
  return reasoningControl(optionalText(reasoning, 'effort', 'reasoning') ?? native, tokens);
}

function decodeInclude(body: JsonObject): { readonly logprobs: boolean; readonly sealedThinking: boolean } {
  const include = optionalList(body, 'include') ?? [];
  if (!include.every((entry) => typeof entry === 'string')) throw invalid('include', 'an array of strings');
  return {
    logprobs: include.includes('message.output_text.logprobs'),
    sealedThinking: include.includes('reasoning.encrypted_content'),
  };
}

/** A stream is answered while it is made; only what is not waited for can be made behind the client's back. */
function decodeBackground(body: JsonObject, { stream, store }: { stream: boolean; store: boolean }): boolean {
  if (optionalFlag(body, 'background') !== true) return false;
  if (!store) throw invalid('store', 'true for a response in the background');
  return !stream;
}
