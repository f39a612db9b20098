import type { AppError } from '../../core/errors.ts';
import { type Usage, unreachable } from '../../core/events.ts';
import { openaiError } from '../error-codes.ts';
import type { AudioFormat } from './audio-buffer.ts';
import type { Item, ItemPart } from './conversation.ts';
import type { OutputPlace, ResponseEnd, ResponseState, ServerEvent } from './events.ts';
import type { ResponseSettings, SessionSettings, TranscriptionSettings, TurnDetection } from './settings.ts';

/** `beta`: clients that send `OpenAI-Beta: realtime=v1`. Names and shapes differ. */
export type ProtocolVersion = 'ga' | 'beta';

interface EncodeOptions {
  readonly version: ProtocolVersion;
  readonly sessionId: string;
  readonly conversationId: string;
  readonly newId: (prefix: string) => string;
}

/** The messages of an event; the versions have none for some events. */
export function encodeEvent(event: ServerEvent, options: EncodeOptions): readonly string[] {
  const bodies = bodiesOf(event, options);
  return bodies.map((body) => JSON.stringify({ event_id: options.newId('event_'), ...body }));
}

/** Names of the newer version, and of the beta. */
const betaNames: Readonly<Record<string, string>> = {
  'response.output_text.delta': 'response.text.delta',
  'response.output_text.done': 'response.text.done',
  'response.output_audio.delta': 'response.audio.delta',
  'response.output_audio.done': 'response.audio.done',
  'response.output_audio_transcript.delta': 'response.audio_transcript.delta',
  'response.output_audio_transcript.done': 'response.audio_transcript.done',
};

function bodiesOf(event: ServerEvent, options: EncodeOptions): readonly object[] {
  const { version } = options;
  const named = (name: string): { readonly type: string } => ({
    type: version === 'beta' ? (betaNames[name] ?? name) : name,
  });
  switch (event.type) {
    case 'session-created':
      return [{ type: 'session.created', session: sessionBody(event.settings, options) }];
    case 'session-updated': {
      const session = { ...sessionBody(event.settings, options), ...ignoredBody(event.ignored) };
      return [{ type: 'session.updated', session }];
    }
    case 'conversation-created':
      return [
        { type: 'conversation.created', conversation: { id: options.conversationId, object: 'realtime.conversation' } },
      ];
    case 'error':
      return [{ type: 'error', error: { ...errorBody(event.error), event_id: event.eventId ?? null } }];
    case 'item-added':
    case 'item-done': {
      const body = { previous_item_id: event.previous, item: itemBody(event.item, version) };
      if (version === 'ga')
        return [{ type: `conversation.item.${event.type === 'item-added' ? 'added' : 'done'}`, ...body }];
      return event.type === 'item-added' ? [{ type: 'conversation.item.created', ...body }] : [];
    }
    case 'item-retrieved':
      return [{ type: 'conversation.item.retrieved', item: itemBody(event.item, version) }];
    case 'item-deleted':
      return [{ type: 'conversation.item.deleted', item_id: event.itemId }];
    case 'item-truncated': {
      const { itemId, contentIndex, audioEndMs } = event;
      const place = { item_id: itemId, content_index: contentIndex, audio_end_ms: audioEndMs };
      return [{ type: 'conversation.item.truncated', ...place }];
    }
    case 'buffer-cleared':
      return [{ type: 'input_audio_buffer.cleared' }];
    case 'buffer-committed':
      return [{ type: 'input_audio_buffer.committed', previous_item_id: event.previous, item_id: event.itemId }];
    case 'speech-started':
      return [{ type: 'input_audio_buffer.speech_started', audio_start_ms: event.milliseconds, item_id: event.itemId }];
    case 'speech-stopped':
      return [{ type: 'input_audio_buffer.speech_stopped', audio_end_ms: event.milliseconds, item_id: event.itemId }];
    case 'transcript-delta':
      return [{ ...transcriptionBody('delta', event), delta: event.delta }];
    case 'transcript-done': {
      const usage = { type: 'duration', seconds: event.seconds };
      return [{ ...transcriptionBody('completed', event), transcript: event.transcript, usage }];
    }
    case 'transcript-failed':
      return [{ ...transcriptionBody('failed', event), error: errorBody(event.error) }];
    case 'response-created':
    case 'response-done': {
      const response = { ...responseBody(event.response, version), ...ignoredBody(event.ignored) };
      return [{ type: event.type === 'response-created' ? 'response.created' : 'response.done', response }];
    }
    case 'output-added':
    case 'output-done': {
      const type = `response.output_item.${event.type === 'output-added' ? 'added' : 'done'}`;
      const { responseId, outputIndex } = event;
      return [{ type, response_id: responseId, output_index: outputIndex, item: itemBody(event.item, version) }];
    }
    case 'part-added':
    case 'part-done': {
      const part =
        event.kind === 'text' ? { type: 'text', text: event.text } : { type: 'audio', transcript: event.text };
      return [
        {
          type: `response.content_part.${event.type === 'part-added' ? 'added' : 'done'}`,
          ...contentPlace(event),
          part,
        },
      ];
    }
    case 'text-delta':
      return [{ ...named('response.output_text.delta'), ...contentPlace(event), delta: event.delta }];
    case 'text-done':
      return [{ ...named('response.output_text.done'), ...contentPlace(event), text: event.text }];
    case 'speech-text-delta':
      return [{ ...named('response.output_audio_transcript.delta'), ...contentPlace(event), delta: event.delta }];
    case 'speech-text-done':
      return [{ ...named('response.output_audio_transcript.done'), ...contentPlace(event), transcript: event.text }];
    case 'audio-delta': {
      const { buffer, byteOffset, byteLength } = event.bytes;
      const delta = Buffer.from(buffer, byteOffset, byteLength).toString('base64');
      return [{ ...named('response.output_audio.delta'), ...contentPlace(event), delta }];
    }
    case 'audio-done':
      return [{ ...named('response.output_audio.done'), ...contentPlace(event) }];
    case 'arguments-delta': {
      const body = { call_id: event.callId, delta: event.delta };
      return [{ type: 'response.function_call_arguments.delta', ...placeBody(event), ...body }];
    }
    case 'arguments-done': {
      const body = { call_id: event.callId, name: event.name, arguments: event.json };
      return [{ type: 'response.function_call_arguments.done', ...placeBody(event), ...body }];
    }
    default:
      return unreachable(event);
  }
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

function transcriptionBody(what: string, { itemId, contentIndex }: { itemId: string; contentIndex: number }): object {
  return {
    type: `conversation.item.input_audio_transcription.${what}`,
    item_id: itemId,
    content_index: contentIndex,
  };
}

function placeBody({ responseId, itemId, outputIndex }: OutputPlace): object {
  return { response_id: responseId, item_id: itemId, output_index: outputIndex };
}

/** An answer has one part. */
function contentPlace(place: OutputPlace): object {
  return { ...placeBody(place), content_index: 0 };
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
  const said = role === 'assistant' ? (version === 'ga' ? 'output_' : '') : 'input_';
  if (part.type === 'text') return { type: `${said}text`, text: part.text };
  return { type: `${said}audio`, transcript: part.transcript ?? null };
}

const formatNames: Readonly<Record<AudioFormat, object>> = {
  pcm16: { type: 'audio/pcm', rate: 24_000 },
  g711_ulaw: { type: 'audio/pcmu' },
  g711_alaw: { type: 'audio/pcma' },
};

function sessionBody(settings: SessionSettings, { version, sessionId }: EncodeOptions): object {
  const { type, model, transcription, turnDetection } = settings;
  const common = { id: sessionId, object: 'realtime.session', model };
  if (version === 'beta') {
    return {
      ...common,
      ...sharedBody(settings, version),
      speed: settings.speed,
      input_audio_format: settings.inputFormat,
      input_audio_transcription: transcriptionSettings(transcription),
      turn_detection: turnDetectionBody(turnDetection),
      input_audio_noise_reduction: null,
    };
  }
  const { audio, ...shared } = sharedBody(settings, version);
  const input = {
    format: formatNames[settings.inputFormat],
    transcription: transcriptionSettings(transcription),
    noise_reduction: null,
    turn_detection: turnDetectionBody(turnDetection),
  };
  if (type === 'transcription') return { ...common, type, audio: { input } };
  return { ...common, type, ...shared, audio: { input, output: { ...audio?.output, speed: settings.speed } } };
}

interface SharedBody {
  readonly audio?: { readonly output: object };
}

/** What session and response have in common. */
function sharedBody(settings: ResponseSettings, version: ProtocolVersion): SharedBody {
  const { modality, voice, outputFormat, toolChoice, temperature, maxTokens, effort } = settings;
  const tools = settings.tools.map((tool) => ({ type: 'function', ...tool }));
  const tool_choice = toolChoice.type === 'named' ? { type: 'function', name: toolChoice.name } : toolChoice.type;
  const common = { instructions: settings.instructions, tools, tool_choice };
  if (version === 'beta') {
    const modalities = modality === 'audio' ? ['text', 'audio'] : ['text'];
    const old = { modalities, voice, output_audio_format: outputFormat, max_response_output_tokens: maxTokens };
    return { ...common, ...old, ...(temperature === undefined ? {} : { temperature }) } as SharedBody;
  }
  return {
    ...common,
    output_modalities: [modality],
    max_output_tokens: maxTokens,
    parallel_tool_calls: settings.parallelToolCalls,
    ...(effort === undefined ? {} : { reasoning: { effort } }),
    audio: { output: { format: formatNames[outputFormat], voice } },
  } as SharedBody;
}

function transcriptionSettings(transcription: TranscriptionSettings | null): object | null {
  if (!transcription) return null;
  const { model, language, prompt } = transcription;
  return { model, ...(language === undefined ? {} : { language }), ...(prompt === '' ? {} : { prompt }) };
}

/** The effective settings: semantic detection is reported as the pauses that replace it. */
function turnDetectionBody(turn: TurnDetection | null): object | null {
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
  const {
    instructions: _,
    tools: __,
    tool_choice: ___,
    ...shared
  } = sharedBody(settings, version) as Record<string, unknown>;
  return {
    object: 'realtime.response',
    id,
    status: end?.type ?? 'in_progress',
    status_details: end && end.type !== 'completed' ? endBody(end) : null,
    output: output.map((item) => itemBody(item, version)),
    conversation_id: conversationId ?? null,
    ...shared,
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
