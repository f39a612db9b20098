import type { WireTool } from '../tools/tools.ts';
import type { WireMessage } from './messages.ts';

export interface ChatRequestOptions {
  readonly messages: readonly WireMessage[];
  readonly genkey: string;
  readonly replyLength: number;
  /** Fields that the settings set, by the names of the chat API and the native API, which it accepts too. */
  readonly sampling: Readonly<Record<string, unknown>>;
  readonly effort: string;
  readonly tools: readonly WireTool[];
  readonly probabilities: boolean;
  /** The chosen model, if the server has several. */
  readonly model: string | undefined;
  /** The last message is the start of the reply. */
  readonly continues: boolean;
  readonly stops?: readonly string[];
}

/** Fields of the chat API take precedence over native ones, so both are sent. */
const renamedFields: Readonly<Record<string, string>> = { sampler_seed: 'seed' };

export function chatRequest(options: ChatRequestOptions): Record<string, unknown> & { readonly genkey: string } {
  const {
    messages,
    genkey,
    replyLength,
    sampling,
    effort,
    tools,
    probabilities,
    model,
    continues,
    stops = [],
  } = options;
  const renamed = Object.entries(sampling).flatMap(([name, value]) =>
    renamedFields[name] ? [[renamedFields[name], value]] : [],
  );
  return {
    ...sampling,
    ...Object.fromEntries(renamed),
    messages,
    genkey,
    stream: true,
    stream_options: { include_usage: true },
    ...(Number.isFinite(replyLength) && replyLength > 0 ? { max_tokens: Math.floor(replyLength) } : {}),
    ...(effort === '' ? {} : { reasoning_effort: effort }),
    ...(tools.length > 0 ? { tools } : {}),
    ...(probabilities ? { logprobs: true, top_logprobs: 5 } : {}),
    ...(model === undefined ? {} : { model }),
    ...(stops.length > 0 ? { stop: stops } : {}),
    continue_assistant_turn: continues,
  };
}

interface NamesRequestOptions
  extends Pick<ChatRequestOptions, 'genkey' | 'replyLength' | 'sampling' | 'probabilities' | 'model'> {
  readonly prompt: string;
  readonly stops: readonly string[];
  /** 0 if unknown. */
  readonly context: number;
}

/** A request of the native API: the prompt is sent as it is, without a chat template. */
export function namesRequest(options: NamesRequestOptions): Record<string, unknown> & { readonly genkey: string } {
  const { prompt, genkey, replyLength, sampling, probabilities, model, stops, context } = options;
  return {
    ...sampling,
    prompt,
    genkey,
    ...(Number.isFinite(replyLength) && replyLength > 0 ? { max_length: Math.floor(replyLength) } : {}),
    ...(context > 0 ? { max_context_length: context } : {}),
    stop_sequence: stops,
    trim_stop: true,
    // A chat may contain such placeholders literally.
    replace_instruct_placeholders: false,
    logprobs: probabilities,
    ...(model === undefined ? {} : { model }),
  };
}
