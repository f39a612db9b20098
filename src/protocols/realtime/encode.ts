import type { AppError } from '../../core/errors.ts';
import type { Usage } from '../../core/events.ts';
import type { JsonObject } from '../../http/body.ts';
import { openaiError } from '../error-codes.ts';
import type { Item, ItemPart } from './conversation.ts';
import { audioFormats, type ResponseSettings, type SessionSettings } from './fields.ts';

export type ResponseEnd =
  | { readonly type: 'completed' }
  /** `turn_detected`: the user began to speak. */
  | { readonly type: 'cancelled'; readonly reason: 'turn_detected' | 'client_cancelled' }
  | { readonly type: 'incomplete'; readonly reason: 'max_output_tokens' }
  | { readonly type: 'failed'; readonly error: AppError };

export interface ResponseState {
  readonly id: string;
  readonly settings: ResponseSettings;
  /** Undefined if its answer is not part of the conversation. */
  readonly conversationId: string | undefined;
  readonly metadata: JsonObject | null;
  readonly output: readonly Item[];
  readonly end: ResponseEnd | undefined;
  readonly usage: Usage | undefined;
}

type Event<Type extends string, Data = object> = { readonly type: Type } & Readonly<Data>;

/** Where in a response something belongs. */
export type OutputPosition = Readonly<{ response_id: string; item_id: string; output_index: number }>;
/** A part of an item. */
type PartPosition = { item_id: string; content_index: number };
type InPart = OutputPosition & PartPosition;
type AboutItem = { previous_item_id: string | null; item_id: string };
type Ignored = { ignored: readonly string[] };
type Transcription = 'conversation.item.input_audio_transcription';

/** The events of the server, by the names of the newer version. Items, settings and errors get their form when they are encoded. */
export type ServerEvent =
  | Event<'session.created' | 'session.updated', { session: SessionSettings } & Ignored>
  | Event<'conversation.created'>
  /** `about`: the id of the client's event. */
  | Event<'error', { error: AppError; about: string | undefined }>
  | Event<'conversation.item.added' | 'conversation.item.done', { previous_item_id: string | null; item: Item }>
  | Event<'conversation.item.retrieved', { item: Item }>
  | Event<'conversation.item.deleted', { item_id: string }>
  | Event<'conversation.item.truncated', { audio_end_ms: number } & PartPosition>
  | Event<'input_audio_buffer.cleared'>
  | Event<'input_audio_buffer.committed', AboutItem>
  | Event<'input_audio_buffer.speech_started', { audio_start_ms: number; item_id: string }>
  | Event<'input_audio_buffer.speech_stopped', { audio_end_ms: number; item_id: string }>
  | Event<`${Transcription}.delta`, { delta: string } & PartPosition>
  | Event<`${Transcription}.completed`, { transcript: string; usage: object } & PartPosition>
  | Event<`${Transcription}.failed`, { error: AppError } & PartPosition>
  | Event<'response.created' | 'response.done', { response: ResponseState } & Ignored>
  | Event<'response.output_item.added' | 'response.output_item.done', { item: Item } & Omit<OutputPosition, 'item_id'>>
  | Event<'response.content_part.added' | 'response.content_part.done', { part: object } & InPart>
  | Event<'response.output_text.delta' | 'response.output_audio_transcript.delta', { delta: string } & InPart>
  | Event<'response.output_text.done', { text: string } & InPart>
  | Event<'response.output_audio_transcript.done', { transcript: string } & InPart>
  /** In the output format. */
  | Event<'response.output_audio.delta', { delta: Uint8Array } & InPart>
  | Event<'response.output_audio.done', InPart>
  | Event<'response.function_call_arguments.delta', { call_id: string; delta: string } & OutputPosition>
  | Event<
      'response.function_call_arguments.done',
      { call_id: string; name: string; arguments: string } & OutputPosition
    >;

/** `beta`: clients that send `OpenAI-Beta: realtime=v1`. Names and shapes differ. */
export type ProtocolVersion = 'ga' | 'beta';

interface EncodeOptions {
  readonly version: ProtocolVersion;
  readonly sessionId: string;
  readonly conversationId: string;
  readonly newId: (prefix: string) => string;
}

/** Names of the newer version, and of the beta. */
const betaNames: Readonly<Record<string, string>> = {
  'conversation.item.added': 'conversation.item.created',
  'response.output_text.delta': 'response.text.delta',
  'response.output_text.done': 'response.text.done',
  'response.output_audio.delta': 'response.audio.delta',
  'response.output_audio.done': 'response.audio.done',
  'response.output_audio_transcript.delta': 'response.audio_transcript.delta',
  'response.output_audio_transcript.done': 'response.audio_transcript.done',
};

/** The message of an event; undefined for one that the version does not have. */
export function encodeEvent(event: ServerEvent, options: EncodeOptions): string | undefined {
  const { type } = event;
  const isBeta = options.version === 'beta';
  if (isBeta && type === 'conversation.item.done') return undefined;
  const named = { ...event, type: isBeta ? (betaNames[type] ?? type) : type };
  // What is only for the encoder is left out.
  const own = { ignored: undefined, about: undefined };
  return JSON.stringify({ event_id: options.newId('event_'), ...named, ...own, ...formOf(event, options) });
}

/** What the versions write in their own way. */
function formOf(event: ServerEvent, options: EncodeOptions): object {
  const { version, conversationId: id } = options;
  if ('item' in event) return { item: itemBody(event.item, version) };
  if ('session' in event) return { session: { ...sessionBody(event.session, options), ...ignoredBody(event.ignored) } };
  if ('response' in event)
    return { response: { ...responseBody(event.response, version), ...ignoredBody(event.ignored) } };
  if (event.type === 'error') return { error: { ...errorBody(event.error), event_id: event.about ?? null } };
  if ('error' in event) return { error: errorBody(event.error) };
  if (event.type === 'conversation.created') return { conversation: { id, object: 'realtime.conversation' } };
  if (event.type !== 'response.output_audio.delta') return {};
  const { buffer, byteOffset, byteLength } = event.delta;
  return { delta: Buffer.from(buffer, byteOffset, byteLength).toString('base64') };
}

function errorBody(error: AppError): object {
  const { details } = error;
  const param = 'field' in details && typeof details.field === 'string' ? details.field : null;
  return openaiError(error, error.message, param, 'wireCode' in details ? details.wireCode : undefined);
}

/** The names of fields that had no effect. */
function ignoredBody(ignored: readonly string[]): object {
  return ignored.length > 0 ? { x_parley_ignored: ignored } : {};
}

function itemBody(item: Item, version: ProtocolVersion): object {
  const { id, status } = item;
  const common = { id, object: 'realtime.item', status };
  switch (item.type) {
    case 'message': {
      const content = item.parts.map((part) => partBody(part, item.role, version));
      return { ...common, type: 'message', role: item.role, content };
    }
    case 'call':
      return { ...common, type: 'function_call', call_id: item.callId, name: item.name, arguments: item.arguments };
    case 'call-output':
      return { ...common, type: 'function_call_output', call_id: item.callId, output: item.output };
  }
}

function partBody(part: ItemPart, role: string, version: ProtocolVersion): object {
  const prefix = role === 'assistant' ? (version === 'ga' ? 'output_' : '') : 'input_';
  if (part.type === 'text') return { type: `${prefix}text`, text: part.text };
  return { type: `${prefix}audio`, transcript: part.transcript ?? null };
}

function sessionBody(settings: SessionSettings, { version, sessionId }: EncodeOptions): object {
  const { type, model, speed, inputFormat } = settings;
  const common = { id: sessionId, object: 'realtime.session', model };
  const transcription = transcriptionSettings(settings.transcription);
  const turn_detection = turnDetectionBody(settings.turnDetection);
  if (version === 'beta') {
    return {
      ...common,
      ...promptBody(settings),
      ...outputBody(settings, version),
      speed,
      input_audio_format: inputFormat,
      input_audio_transcription: transcription,
      turn_detection,
      input_audio_noise_reduction: null,
    };
  }
  const input = { format: audioFormats[inputFormat], transcription, noise_reduction: null, turn_detection };
  if (type === 'transcription') return { ...common, type, audio: { input } };
  const output = { ...audioOutput(settings), speed };
  return { ...common, type, ...promptBody(settings), ...outputBody(settings, version), audio: { input, output } };
}

function promptBody({ instructions, tools, toolChoice }: ResponseSettings): object {
  const tool_choice = toolChoice.type === 'named' ? { type: 'function', name: toolChoice.name } : toolChoice.type;
  return { instructions, tools: tools.map((tool) => ({ type: 'function', ...tool })), tool_choice };
}

const audioOutput = ({ outputFormat, voice }: ResponseSettings) => ({ format: audioFormats[outputFormat], voice });

/** How replies are made, for the session and for a response. */
function outputBody(settings: ResponseSettings, version: ProtocolVersion): object {
  const { modality, voice, outputFormat, temperature, maxTokens, effort } = settings;
  if (version === 'beta') {
    const modalities = modality === 'audio' ? ['text', 'audio'] : ['text'];
    const format = { output_audio_format: outputFormat, max_response_output_tokens: maxTokens };
    return { modalities, voice, ...format, temperature };
  }
  return {
    output_modalities: [modality],
    max_output_tokens: maxTokens,
    parallel_tool_calls: settings.parallelToolCalls,
    reasoning: effort === undefined ? undefined : { effort },
    audio: { output: audioOutput(settings) },
  };
}

function transcriptionSettings(transcription: SessionSettings['transcription']): object | null {
  return transcription && { ...transcription, prompt: transcription.prompt || undefined };
}

/** The effective settings: semantic detection is reported as the pauses that replace it. */
function turnDetectionBody(turn: SessionSettings['turnDetection']): object | null {
  if (!turn) return null;
  return {
    type: 'server_vad',
    threshold: turn.threshold,
    prefix_padding_ms: turn.prefixPaddingMs,
    silence_duration_ms: turn.silenceMs,
    create_response: turn.createResponse,
    interrupt_response: turn.interruptResponse,
    ...(turn.type === 'semantic_vad' ? { x_parley_note: 'semantic_vad is not possible here: pauses decide.' } : {}),
  };
}

function responseBody(response: ResponseState, version: ProtocolVersion): object {
  const { id, settings, conversationId, metadata, output, end, usage } = response;
  return {
    object: 'realtime.response',
    id,
    status: end?.type ?? 'in_progress',
    status_details: end && end.type !== 'completed' ? endBody(end) : null,
    output: output.map((item) => itemBody(item, version)),
    conversation_id: conversationId ?? null,
    ...outputBody(settings, version),
    metadata,
    usage: usage ? usageBody(usage) : null,
  };
}

function endBody(end: ResponseEnd): object {
  if (end.type === 'failed') return { type: end.type, error: errorBody(end.error) };
  return 'reason' in end ? { type: end.type, reason: end.reason } : { type: end.type };
}

/** The model reads and writes text, whatever is heard and spoken. */
function usageBody({ promptTokens, cachedTokens, completionTokens }: Usage): object {
  return {
    total_tokens: promptTokens + completionTokens,
    input_tokens: promptTokens,
    output_tokens: completionTokens,
    input_token_details: {
      text_tokens: promptTokens,
      audio_tokens: 0,
      image_tokens: 0,
      cached_tokens: cachedTokens,
      cached_tokens_details: { text_tokens: cachedTokens, audio_tokens: 0, image_tokens: 0 },
    },
    output_token_details: { text_tokens: completionTokens, audio_tokens: 0 },
  };
}
