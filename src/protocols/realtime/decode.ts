import { AppError } from '../../core/errors.ts';
import { tryParseJson } from '../../core/json.ts';
import type { JsonObject } from '../../http/body.ts';
import * as f from '../fields.ts';
import { refused } from './conversation.ts';
import { type Change, type ResponseSettings, responseFields, type SessionSettings, sessionFields } from './fields.ts';

/** An event of a client, decoded. */
export type ClientEvent = {
  readonly [Type in keyof typeof decoders]: { readonly type: Type } & Readonly<ReturnType<(typeof decoders)[Type]>>;
}[keyof typeof decoders];
/** An item of a client, whose audio is still to be transcribed. */
export type NewItem = ReturnType<typeof readItem>;
export type NewPart = ReturnType<typeof readPart>;
export type ResponseOptions = ReturnType<typeof decodeRespond>;

/** As the client sent it: `event_id` is named in errors about it. */
export interface Envelope {
  readonly type: string;
  readonly eventId: string | undefined;
  readonly event: JsonObject;
}

export function readEnvelope(message: string | Buffer): Envelope {
  const parsed = typeof message === 'string' ? tryParseJson(message) : undefined;
  if (!f.isObject(parsed)) throw refused('An event must be a text message with a JSON object.', 'invalid_event');
  const { type, event_id: id } = parsed;
  const eventId = typeof id === 'string' ? id.slice(0, 512) : undefined;
  if (typeof type !== 'string') throw f.wrong('type', 'the type of the event');
  return { type, eventId, event: parsed };
}

/** Throws for an event that cannot be honoured. */
export function decodeEvent({ type, event }: Envelope): ClientEvent {
  if (Object.hasOwn(decoders, type)) {
    const known = type as keyof typeof decoders;
    return { type: known, ...decoders[known](event) } as ClientEvent;
  }
  throw refused(`There is no event ${JSON.stringify(type.slice(0, 100))}.`, 'invalid_value', 'type');
}

const decodeId = (event: JsonObject) => ({ id: f.readAt(event, 'item_id', '', f.readName) });

const decoders = {
  'session.update': (event: JsonObject) => decodeUpdate(f.readAt(event, 'session', '', f.readObject)),
  'transcription_session.update': (event: JsonObject) =>
    decodeUpdate({ ...f.readAt(event, 'session', '', f.readObject), type: 'transcription' }),
  'input_audio_buffer.append': (event: JsonObject) => ({ audio: f.readAt(event, 'audio', '', readAudio) }),
  'input_audio_buffer.commit': () => ({}),
  'input_audio_buffer.clear': () => ({}),
  'conversation.item.create': (event: JsonObject) => ({
    item: readItem(event.item, 'item'),
    after: f.readAt(event, 'previous_item_id', '', f.optionalText),
  }),
  'conversation.item.delete': decodeId,
  'conversation.item.retrieve': decodeId,
  'conversation.item.truncate': (event: JsonObject) => ({
    ...decodeId(event),
    contentIndex: f.readAt(event, 'content_index', '', f.orElse(f.readCount, 0)),
    audioEndMs: f.readAt(event, 'audio_end_ms', '', readMilliseconds),
  }),
  'response.create': (event: JsonObject) => decodeRespond(f.readAt(event, 'response', '', f.optionalObject) ?? {}),
  'response.cancel': (event: JsonObject) => ({ responseId: f.readAt(event, 'response_id', '', f.optionalText) }),
  'output_audio_buffer.clear': (): never => {
    const instead = 'the client plays the audio of a WebSocket; stop it there, and send conversation.item.truncate';
    throw new AppError('unsupported', { feature: 'output_audio_buffer.clear', instead });
  },
};

const readMilliseconds: f.Read<number> = (value, path) => {
  const milliseconds = f.readNumber(value, path);
  if (milliseconds >= 0 && Number.isFinite(milliseconds)) return milliseconds;
  throw f.wrong(path, 'a number of milliseconds, 0 or more');
};

const readAudio: f.Read<Buffer> = (value, path) => {
  const text = f.readText(value, path);
  if (!/^[A-Za-z0-9+/_-]*={0,2}$/.test(text)) throw f.wrong(path, 'audio in base64');
  return Buffer.from(text, 'base64');
};

function decodeUpdate(session: JsonObject) {
  const { audio, ...fields } = f.readFields(sessionFields, session, 'session');
  const { input, output } = audio;
  // Null has a meaning of its own.
  const either = <Value>(newer: Value | undefined, older: Value | undefined): Value | undefined =>
    newer === undefined ? older : newer;
  const change: Change<SessionSettings> = {
    ...responseChange(fields, output),
    type: fields.type,
    model: fields.model,
    speed: output.speed ?? fields.speed,
    inputFormat: input.format ?? fields.input_audio_format,
    transcription: either(input.transcription, fields.input_audio_transcription),
    turnDetection: either(input.turn_detection, fields.turn_detection),
  };
  return { change, ignored: withoutEffect(session, sessionFields) };
}

function decodeRespond(response: JsonObject) {
  const { audio, conversation, metadata = null, ...fields } = f.readFields(responseFields, response, 'response');
  return {
    change: responseChange(fields, audio.output),
    conversation,
    input: fields.input?.map((item, index) => readInput(item, `response.input[${index}]`)),
    metadata,
    /** Names of fields. */
    ignored: withoutEffect(response, responseFields),
  };
}

type Shared = Omit<f.Fields<typeof responseFields>, 'audio' | 'conversation' | 'input' | 'metadata'>;

function responseChange(
  fields: Shared,
  output: f.Fields<typeof responseFields>['audio']['output'],
): Change<ResponseSettings> {
  return {
    instructions: fields.instructions,
    modality: fields.output_modalities ?? fields.modalities,
    tools: fields.tools,
    toolChoice: fields.tool_choice,
    parallelToolCalls: fields.parallel_tool_calls,
    maxTokens: fields.max_output_tokens ?? fields.max_response_output_tokens,
    temperature: fields.temperature,
    effort: fields.reasoning.effort,
    voice: output.voice ?? fields.voice,
    outputFormat: output.format ?? fields.output_audio_format,
  };
}

/** Fields without effect, and unknown ones. */
function withoutEffect(sent: JsonObject, table: f.Table): readonly string[] {
  const unknown = Object.keys(sent).filter((name) => !Object.hasOwn(table, name));
  return [...f.ignoredIn(table, sent), ...unknown].filter((name) => name !== 'metadata').slice(0, 50);
}

function readInput(value: unknown, path: string) {
  if (f.isObject(value) && value.type === 'item_reference') {
    return { type: 'reference', id: f.readAt(value, 'id', path, f.readName) } as const;
  }
  return readItem(value, path);
}

function readItem(value: unknown, path: string) {
  const item = f.readObject(value, path);
  const at = <Value>(name: string, read: f.Read<Value>): Value => f.readAt(item, name, path, read);
  const type = at('type', f.oneOf('message', 'function_call', 'function_call_output'));
  const id = at('id', f.optionalName);
  switch (type) {
    case 'message': {
      const role = at('role', f.oneOf('system', 'user', 'assistant'));
      return { type, id, role, parts: at('content', f.listOf(readPart)) };
    }
    case 'function_call': {
      const [callId, name] = [at('call_id', f.optionalName), at('name', f.readName)];
      return { type: 'call', id, callId, name, arguments: at('arguments', f.readText) } as const;
    }
    case 'function_call_output': {
      const callId = at('call_id', f.readName);
      return { type: 'call-output', id, callId, output: at('output', f.readText) } as const;
    }
  }
}

function readPart(value: unknown, path: string) {
  const part = f.readObject(value, path);
  const type = f.readAt(part, 'type', path, f.readText);
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: f.readAt(part, 'text', path, f.readText) } as const;
    case 'input_audio':
    case 'output_audio':
    case 'audio': {
      const transcript = f.readAt(part, 'transcript', path, f.optionalText);
      // The client knows the words.
      if (transcript !== undefined) return { type: 'transcript', text: transcript } as const;
      return { type: 'audio', audio: f.readAt(part, 'audio', path, readAudio) } as const;
    }
    case 'input_image':
      throw new AppError('unsupported', {
        feature: `${path} (input_image)`,
        instead: 'a spoken conversation takes text and audio; send pictures to /v1/chat/completions',
      });
    default:
      throw f.wrong(`${path}.type`, 'one of input_text, input_audio, output_text, output_audio');
  }
}
