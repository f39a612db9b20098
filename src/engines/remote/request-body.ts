import { text } from '../../chat/messages.ts';
import {
  encodeMessages,
  encodeOutput,
  encodeToolChoice,
  encodeTools,
  nativeMediaFields,
  type WireBody,
} from '../../chat/openai-request.ts';
import type { ChatRequest } from '../../chat/request.ts';
import { AppError } from '../../core/errors.ts';
import { encodeAdapters } from '../../core/lora.ts';
import type { GenerationControls, GenerationRequest } from '../../core/request.ts';
import {
  defaultSampling,
  isRequested,
  type SamplingField,
  samplerStages,
  samplingFields,
  samplingNames,
} from '../../core/sampling-fields.ts';
import { kinds, type RemoteKind } from './kinds.ts';

const streamed = { stream: true, stream_options: { include_usage: true } };

/** WireBody of `POST /v1/chat/completions`, without the model. */
export function chatBody(request: ChatRequest, facts: ControlFacts): ControlsBody {
  const { logprobs } = request.controls;
  const rules = [...thinkingRules(request, facts), continueRule(request, facts)];
  const own = controlsBody(request.controls, facts, rules);
  const fields = {
    ...promptBody(request, facts),
    ...streamed,
    ...own.fields,
    ...(logprobs === undefined ? {} : { logprobs: true, top_logprobs: logprobs }),
    ...encodeOutput(request.output),
  };
  return { ...own, fields };
}

/** Fields that determine the prompt, for generating and for counting tokens. */
export function promptBody(request: ChatRequest, { kind }: Pick<ControlFacts, 'kind'>): WireBody {
  const { conversation, memory } = request;
  const ownMemory = memory !== '' && kinds[kind].native;
  const led = memory === '' || ownMemory ? conversation.messages : withMemory(request);
  return {
    messages: encodeMessages(led, conversation.media),
    ...(ownMemory ? { memory } : {}),
    ...toolsBody(request),
  };
}

/** Memory becomes a system message for backends without a field for it. */
function withMemory({ conversation: { messages }, memory }: ChatRequest): ChatRequest['conversation']['messages'] {
  const [first, ...rest] = messages;
  if (first?.role !== 'system') return [{ role: 'system', content: text(memory) }, ...messages];
  return [{ role: 'system', content: [...text(`${memory}\n`), ...first.content] }, ...rest];
}

function toolsBody(request: ChatRequest): WireBody {
  const { tools } = request.conversation;
  if (tools.length === 0) return {};
  return {
    tools: encodeTools(tools),
    tool_choice: encodeToolChoice(request),
    ...(request.parallelToolCalls ? {} : { parallel_tool_calls: false }),
  };
}

function thinkingRules(
  { reasoning, templateVariables, controls }: ChatRequest,
  { kind }: ControlFacts,
): readonly Rule[] {
  const { effort: takesEffort, templateVariables: takesVariables } = kinds[kind];
  const { effort } = reasoning;
  const budget = controls.reasoning?.type === 'tokens' ? controls.reasoning.tokens : undefined;
  const silent = effort === 'none' && takesVariables && templateVariables.enable_thinking === undefined;
  const variables = { ...templateVariables, ...(silent ? { enable_thinking: false } : {}) };
  // The template variable says it too, and only backends of the native API take both.
  const sendsEffort = takesEffort && (effort !== 'none' || !takesVariables || kinds[kind].native);
  const effortFields = sendsEffort ? { reasoning_effort: effort } : undefined;
  const variableFields = takesVariables ? { chat_template_kwargs: variables } : undefined;
  return [
    rule('reasoning_effort', effort !== undefined, effortFields ?? (silent ? {} : undefined)),
    rule('chat_template_kwargs', Object.keys(variables).length > 0, variableFields),
    budgetRule(budget, kind),
  ];
}

function budgetRule(budget: number | undefined, kind: RemoteKind): Rule {
  const fields = kinds[kind].native ? { thinking_budget_tokens: budget } : undefined;
  return rule('thinking_budget_tokens', budget !== undefined, fields);
}

/** Relevant only if the last message is the assistant's. */
function continueRule({ conversation, continueAssistantTurn }: ChatRequest, { kind }: ControlFacts): Rule {
  const { continues, native } = kinds[kind];
  const fields = continueAssistantTurn ? continues : native ? { continue_assistant_turn: false } : {};
  return rule('continue_assistant_turn', conversation.messages.at(-1)?.role === 'assistant', fields);
}

type CompletionFacts = ControlFacts & { readonly contextSize: number | undefined };

/** WireBody of `POST /v1/completions`, without the model. */
export function completionBody(request: GenerationRequest, facts: CompletionFacts): ControlsBody {
  const { logprobs } = request;
  const own = controlsBody(request, facts, [budgetRule(thinkingBudget(request), facts.kind)]);
  const fields = {
    ...plainPromptBody(request, facts),
    ...streamed,
    ...own.fields,
    ...(logprobs === undefined ? {} : { logprobs }),
    ...truncation(request, facts),
  };
  return { ...own, fields };
}

function plainPromptBody(
  { prompt, promptTokens, memory, media }: GenerationRequest,
  { kind, host }: ControlFacts,
): WireBody {
  const { native } = kinds[kind];
  if (media.length > 0 && !native) {
    const instead = `the engine at ${host} takes pictures and sounds in chats alone`;
    throw new AppError('unsupported', { feature: 'A picture or sound beside a plain prompt', instead });
  }
  return {
    prompt: promptTokens ?? (native ? prompt : memory + prompt),
    ...(native && memory !== '' ? { memory } : {}),
    ...nativeMediaFields(media),
  };
}

function thinkingBudget({ reasoning, maxTokens }: GenerationRequest): number | undefined {
  if (!reasoning) return undefined;
  return reasoning.type === 'tokens' ? reasoning.tokens : Math.floor(reasoning.share * maxTokens);
}

/** Truncation of long prompts, if the backend supports it. */
function truncation(request: GenerationRequest, { kind, contextSize }: CompletionFacts): WireBody {
  if (request.overflow !== 'trim' || kind !== 'vllm' || contextSize === undefined) return {};
  const most = Math.min(request.maxContext ?? contextSize, contextSize) - request.maxTokens;
  return most > 0 ? { truncate_prompt_tokens: most } : {};
}

export interface ControlsBody {
  readonly fields: WireBody;
  /** Controls that the backend does not support, by their names in the native API. */
  readonly ignored: readonly string[];
}

interface ControlFacts {
  readonly kind: RemoteKind;
  /** Address for messages. */
  readonly host: string;
  /** Seed for requests without one. */
  readonly seed: number;
}

/** A control other than a sampler: whether it has an effect, and its fields; undefined if the backend does not support it. */
interface Rule {
  readonly name: string;
  readonly requested: boolean;
  readonly fields: WireBody | undefined;
}

const rule = (name: string, requested: boolean, fields: WireBody | undefined): Rule => ({ name, requested, fields });

function controlRules(controls: GenerationControls, kind: RemoteKind): readonly Rule[] {
  const { stop, endTokens, logitBias, bannedTokens, bannedStrings, guidance, maxContext, sampling, adapters } =
    controls;
  // Both accept the fields of the native API.
  const native = (fields: WireBody) => ({ parley: fields, koboldcpp: fields });
  const vllmAnd = (fields: WireBody) => ({ vllm: fields, sglang: fields });
  // Few are asked for: only their fields are made.
  const byKind = (name: string, requested: boolean, send: () => Partial<Record<RemoteKind, WireBody>>) =>
    rule(name, requested, requested ? send()[kind] : undefined);
  return [
    byKind('trim_stop', !controls.trimStop && stop.length > 0, () => ({
      ...native({ trim_stop: false }),
      vllm: { include_stop_str_in_output: true },
      sglang: { no_stop_trim: true },
    })),
    byKind('ban_eos_token', endTokens === 'ban', () => ({
      ...native({ ban_eos_token: true }),
      ...vllmAnd({ min_tokens: controls.maxTokens }),
      'llama-server': { ignore_eos: true },
    })),
    byKind('bypass_eos', endTokens === 'ignore', () => ({
      ...native({ bypass_eos: true }),
      ...vllmAnd({ ignore_eos: true }),
    })),
    byKind('logit_bias', logitBias.length + bannedTokens.length > 0, () => {
      const bias = { logit_bias: Object.fromEntries([...logitBias, ...bannedTokens.map((token) => [token, -100])]) };
      return { ...native(bias), ...vllmAnd(bias), 'llama-server': bias, openai: bias };
    }),
    byKind('banned_tokens', bannedStrings.length > 0, () => ({
      ...native({ banned_tokens: bannedStrings }),
      vllm: { bad_words: bannedStrings },
    })),
    byKind('guidance_scale', guidance !== undefined && guidance.scale !== 1, () =>
      native({ negative_prompt: guidance?.negativePrompt, guidance_scale: guidance?.scale }),
    ),
    byKind('render_special', controls.renderSpecial !== false, () => ({
      ...native({ render_special: true }),
      ...vllmAnd({ skip_special_tokens: false }),
    })),
    byKind('max_context_length', maxContext !== undefined, () => native({ max_context_length: maxContext })),
    byKind('cache_prompt', controls.freshPrompt === true, () => ({
      ...native({ cache_prompt: false }),
      'llama-server': { cache_prompt: false },
    })),
    rule(
      'return_progress',
      controls.reportsProgress === true || kinds[kind].reportsProgress === true,
      kinds[kind].reportsProgress ? { return_progress: true } : undefined,
    ),
    byKind('lora', adapters !== undefined, () => {
      const lora = encodeAdapters(adapters ?? []);
      return { ...native({ lora }), 'llama-server': { lora } };
    }),
    byKind(
      'sampler_order',
      sampling.order !== defaultSampling.order && sampling.order.join() !== defaultSampling.order.join(),
      () => native({ sampler_order: sampling.order.map((stage) => samplerStages.indexOf(stage)) }),
    ),
    // If DRY is unsupported, that alone is reported.
    byKind('dry_sequence_breakers', sampling.dryMultiplier > 0 && sampling.dryBreakers.length > 0, () => {
      const breakers = { dry_sequence_breakers: sampling.dryBreakers };
      return { ...native(breakers), 'llama-server': breakers };
    }),
  ];
}

/** Sampling fields for the backend. Throws for controls that must not be ignored. */
export function controlsBody(
  controls: GenerationControls,
  facts: ControlFacts,
  more: readonly Rule[] = [],
): ControlsBody {
  const samplers = samplersBody(controls, facts);
  const requested = [...controlRules(controls, facts.kind), ...more].filter((one) => one.requested);
  return {
    fields: {
      max_tokens: controls.maxTokens,
      ...(controls.stop.length > 0 ? { stop: controls.stop } : {}),
      ...samplers.fields,
      ...Object.assign({}, ...requested.map(({ fields }) => fields)),
      ...grammarBody(controls, facts),
    },
    ignored: [...samplers.ignored, ...requested.filter(({ fields }) => !fields).map(({ name }) => name)],
  };
}

function samplersBody({ sampling }: GenerationControls, { kind, seed }: ControlFacts): ControlsBody {
  const { samplers, native } = kinds[kind];
  const fields: Record<string, unknown> = {};
  const ignored: string[] = [];
  for (const name of samplingNames) {
    const { wire, alwaysSent }: SamplingField = samplingFields[name];
    const known = samplers[name];
    const requested = isRequested(name, sampling);
    if (known === undefined) {
      if (requested) ignored.push(wire[0]);
    } else if (native || requested || alwaysSent) fields[known] = sampling[name];
  }
  // A seed per request is slow on some backends; Parley and KoboldCpp choose one anyway.
  if (native) fields.seed = seed;
  if ((kind === 'vllm' || kind === 'sglang') && sampling.topK <= 0) fields.top_k = -1;
  return { fields, ignored };
}

/** Rejected rather than ignored: clients would parse the reply as if it matched. */
function grammarBody({ grammar, promptLogprobs }: GenerationControls, { kind, host }: ControlFacts): WireBody {
  const refuse = (feature: string): never => {
    const instead = `the engine at ${host} (${kinds[kind].title}) has no such thing`;
    throw new AppError('unsupported', { feature, instead });
  };
  if (promptLogprobs !== undefined) refuse('prompt_logprobs');
  if (!grammar) return {};
  const put = kinds[kind].grammar;
  if (!put || grammar.triggers) return refuse(grammar.triggers ? 'grammar_triggers' : 'grammar');
  return { ...put(grammar.gbnf), ...(grammar.retainState && kinds[kind].native ? { grammar_retain_state: true } : {}) };
}
