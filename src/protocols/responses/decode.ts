import { text } from '../../chat/messages.ts';
import type { ChatRequest } from '../../chat/request.ts';
import type { GenerationControls } from '../../core/request.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import type { ResponseStore, StoredItem } from '../../store/responses.ts';
import { limitTokens, readControls } from '../controls/decode.ts';
import { chatParts, type DialectParts, dialectControls, reasoningControl } from '../dialect.ts';
import { isAbsent, wrong } from '../fields/readers.ts';
import { readFields } from '../fields/table.ts';
import { Attachments } from '../media.ts';
import { readConversation } from './conversation.ts';
import { type CreateFields, createFields } from './fields.ts';
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
  readonly genkey: string;
  readonly withLogprobs: boolean;
  readonly withSealedThinking: boolean;
  /** What of the input and the tools had no effect. */
  readonly skipped: readonly string[];
}

export function* decode(body: JsonObject, own: DecodeParts): Sliced<DecodedRequest> {
  const parts = chatParts(own, body);
  const fields = readFields(createFields, body);
  const previous = previousResponse(fields.previous_response_id, parts.store);
  const context = previous ? [...previous.context, ...previous.input, ...previous.output] : [];
  const read = yield* readInput(fields, { newId: parts.newId, storedItem: (id) => parts.store.item(id) });
  const toolbox = readTools(fields);
  const { offered, choice, echo: toolChoice } = chooseTools(fields, toolbox);
  const attachments = new Attachments(parts.text.state(), { addresses: true });
  const earlier = context.map((item): InputItem => ({ item, at: 'previous_response_id' }));
  const { messages, skipped } = yield* readConversation([...earlier, ...read.items], offered, attachments);
  if (messages.length === 0) throw wrong('input', 'a string or items that say something');

  const { instructions, reasoning, parallel_tool_calls: parallel, stream, store } = fields;
  const withLogprobs = fields.include.includes('message.output_text.logprobs');
  const format = decodeFormat(fields, parts.controlParts().schemaToGrammar);
  const controls = decodeOwnControls(fields, dialectControls(readControls(body), parts), { parts, withLogprobs });
  const { effort, budget } = reasoningControl(
    reasoning.effort ?? fields.reasoning_effort,
    fields.thinking_budget_tokens,
  );

  return {
    attachments,
    chat: {
      conversation: {
        messages: instructions ? [{ role: 'system', content: text(instructions) }, ...messages] : messages,
        media: [],
        tools: offered.map(({ tool }) => tool),
      },
      continueAssistantTurn: fields.continue_assistant_turn,
      toolChoice: choice,
      parallelToolCalls: parallel,
      output: format.output,
      reasoning: { effort, separate: fields.encapsulate_thinking },
      templateVariables: fields.chat_template_kwargs ?? {},
      memory: fields.memory,
      controls: { ...controls, reasoning: budget ?? controls.reasoning },
    },
    settings: {
      background: decodeBackground(fields),
      instructions: instructions ?? null,
      max_output_tokens: fields.max_output_tokens ?? null,
      max_tool_calls: fields.max_tool_calls ?? null,
      parallel_tool_calls: parallel,
      previous_response_id: previous?.id ?? null,
      prompt_cache_key: fields.prompt_cache_key ?? null,
      reasoning: { effort: reasoning.effort ?? null, summary: reasoning.summary ?? null },
      safety_identifier: fields.safety_identifier ?? null,
      store,
      temperature: controls.sampling.temperature,
      text: { format: format.echo, verbosity: format.verbosity },
      tool_choice: toolChoice,
      tools: toolbox.echo,
      top_logprobs: fields.top_logprobs,
      top_p: controls.sampling.topP,
      presence_penalty: controls.sampling.presencePenalty,
      frequency_penalty: controls.sampling.frequencyPenalty,
      truncation: controls.overflow === 'trim' ? 'auto' : 'disabled',
      metadata: fields.metadata ?? {},
    },
    offered,
    context,
    input: read.items.map(({ item }) => item),
    stream,
    genkey: fields.genkey,
    withLogprobs,
    withSealedThinking: fields.include.includes('reasoning.encrypted_content'),
    skipped: [
      ...toolbox.skipped.map((kind) => `tools (${kind})`),
      ...read.missing.map((at) => `${at} (item_reference)`),
      ...skipped.filter((place) => place.startsWith('input')),
    ],
  };
}

function previousResponse(id: unknown, store: ResponseStore) {
  if (isAbsent(id)) return undefined;
  const found = typeof id === 'string' ? store.get(id) : undefined;
  const unfinished = found?.response.status === 'queued' || found?.response.status === 'in_progress';
  if (!found || unfinished) throw wrong('previous_response_id', 'the id of a finished response that is still stored');
  return found;
}

/** This dialect's own names for controls, over the native ones that the request may carry beside them. */
function decodeOwnControls(
  { max_output_tokens: maxTokens, truncation, stop, top_logprobs: alternatives }: CreateFields,
  native: GenerationControls,
  { parts, withLogprobs }: { readonly parts: DecodeParts; readonly withLogprobs: boolean },
): GenerationControls {
  return {
    ...native,
    maxTokens: maxTokens === undefined ? native.maxTokens : limitTokens(maxTokens, parts.controlParts()),
    overflow: truncation === undefined ? native.overflow : truncation === 'auto' ? 'trim' : 'refuse',
    stop: stop ?? native.stop,
    logprobs: withLogprobs ? alternatives : native.logprobs,
  };
}

/** A stream is answered while it is made; only what is not waited for can be made behind the client's back. */
function decodeBackground({ background, store, stream }: CreateFields): boolean {
  if (!background) return false;
  if (!store) throw wrong('store', 'true for a response in the background');
  return !stream;
}
