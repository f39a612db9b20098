import type { Usage } from '../../core/events.ts';
import type { StoredItem } from '../../store/responses.ts';

/** The part of a response object that the request decides: shown again in every answer to it. */
export interface ResponseSettings {
  readonly background: boolean;
  readonly instructions: string | null;
  readonly max_output_tokens: number | null;
  readonly max_tool_calls: number | null;
  readonly parallel_tool_calls: boolean;
  readonly previous_response_id: string | null;
  readonly prompt_cache_key: string | null;
  readonly reasoning: { readonly effort: string | null; readonly summary: string | null };
  readonly safety_identifier: string | null;
  readonly store: boolean;
  readonly temperature: number;
  readonly text: { readonly format: object; readonly verbosity: string };
  readonly tool_choice: unknown;
  readonly tools: readonly object[];
  readonly top_logprobs: number;
  readonly top_p: number;
  readonly presence_penalty: number;
  readonly frequency_penalty: number;
  readonly truncation: 'auto' | 'disabled';
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Who the response is: the same in all that is told about it. */
export interface ResponseIdentity {
  readonly id: string;
  /** Seconds since 1970. */
  readonly createdAt: number;
  readonly model: string;
}

export type ResponseState =
  | { readonly status: 'queued' | 'in_progress' }
  | { readonly status: 'completed'; readonly completedAt: number; readonly usage: Usage }
  | { readonly status: 'incomplete'; readonly reason: string; readonly usage: Usage }
  | { readonly status: 'cancelled'; readonly usage: Usage }
  | { readonly status: 'failed'; readonly error: { readonly code: string; readonly message: string } };

export interface ResponseObject extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly status: ResponseState['status'];
  readonly output: readonly StoredItem[];
}

/** Every key is always there: typed clients and validators of this dialect ask for all of them. */
export function responseObject(
  { id, createdAt, model }: ResponseIdentity,
  settings: ResponseSettings,
  state: ResponseState,
  output: readonly StoredItem[],
): ResponseObject {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    completed_at: 'completedAt' in state ? state.completedAt : null,
    status: state.status,
    background: settings.background,
    error: 'error' in state ? state.error : null,
    incomplete_details: 'reason' in state ? { reason: state.reason } : null,
    instructions: settings.instructions,
    max_output_tokens: settings.max_output_tokens,
    max_tool_calls: settings.max_tool_calls,
    model,
    output,
    parallel_tool_calls: settings.parallel_tool_calls,
    previous_response_id: settings.previous_response_id,
    prompt_cache_key: settings.prompt_cache_key,
    reasoning: settings.reasoning,
    safety_identifier: settings.safety_identifier,
    service_tier: 'default',
    store: settings.store,
    temperature: settings.temperature,
    text: settings.text,
    tool_choice: settings.tool_choice,
    tools: settings.tools,
    top_logprobs: settings.top_logprobs,
    top_p: settings.top_p,
    presence_penalty: settings.presence_penalty,
    frequency_penalty: settings.frequency_penalty,
    truncation: settings.truncation,
    usage: 'usage' in state ? usageObject(state.usage) : null,
    metadata: settings.metadata,
  };
}

/** Every number must be there: agents that count tokens cannot read an object without one. */
function usageObject({ promptTokens, cachedTokens, completionTokens, reasoningTokens }: Usage): object {
  return {
    input_tokens: promptTokens,
    input_tokens_details: { cached_tokens: cachedTokens, cache_write_tokens: 0 },
    output_tokens: completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
    total_tokens: promptTokens + completionTokens,
  };
}
