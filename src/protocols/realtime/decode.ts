import { AppError } from '../../core/errors.ts';
import { tryParseJson } from '../../core/json.ts';
import type { JsonObject } from '../../http/body.ts';
import * as f from '../fields.ts';
import { refused } from './conversation.ts';
import { type Change, type ResponseSettings, responseFields, type SessionSettings, sessionFields } from './fields.ts';

/** An item of a client, whose audio is still to be transcribed. */
export type NewItem =
  | {
      readonly type: 'message';
      readonly id: string | undefined;
      readonly role: 'system' | 'user' | 'assistant';
      readonly parts: readonly NewPart[];
    }
  | {
      readonly type: 'call';
      readonly id: string | undefined;
      readonly callId: string | undefined;
      readonly name: string;
      readonly arguments: string;
    }
  | { readonly type: 'call-output'; readonly id: string | undefined; readonly callId: string; readonly output: string };

export type NewPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'audio'; readonly audio: Buffer }
  /** Audio whose words the client knows. */
  | { readonly type: 'transcript'; readonly text: string };

export interface ResponseOptions {
  readonly change: Change<ResponseSettings>;
  readonly conversation: 'auto' | 'none';
  readonly input: readonly (NewItem | { readonly type: 'reference'; readonly id: string })[] | undefined;
  readonly metadata: JsonObject | null;
}

export type ClientEvent =
  | { readonly type: 'update'; readonly change: Change<SessionSettings>; readonly ignored: readonly string[] }
  | { readonly type: 'append'; readonly audio: Buffer }
  | { readonly type: 'commit' | 'clear' }
  | { readonly type: 'create-item'; readonly item: NewItem; readonly after: string | undefined }
  | { readonly type: 'delete-item' | 'retrieve-item'; readonly id: string }
  | {
      readonly type: 'truncate-item';
      readonly id: string;
      readonly contentIndex: number;
      readonly audioEndMs: number;
    }
  | { readonly type: 'respond'; readonly options: ResponseOptions; readonly ignored: readonly string[] }
  | { readonly type: 'cancel'; readonly responseId: string | undefined };

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
  const decode = Object.hasOwn(decoders, type) ? decoders[type] : undefined;
  if (decode) return decode(event);
  throw refused(`There is no event ${JSON.stringify(type.slice(0, 100))}.`, 'invalid_value', 'type');
}

const itemId = (event: JsonObject): string => f.readAt(event, 'item_id', '', f.readName);

const decoders: Readonly<Record<string, (event: JsonObject) => ClientEvent>> = {
  'session.update': (event) => decodeUpdate(f.readAt(event, 'session', '', f.readObject)),
  'transcription_session.update': (event) =>
    decodeUpdate({ ...f.readAt(event, 'session', '', f.readObject), type: 'transcription' }),
  'input_audio_buffer.append': (event) => ({ type: 'append', audio: f.readAt(event, 'audio', '', readAudio) }),
  'input_audio_buffer.commit': () => ({ type: 'commit' }),
  'input_audio_buffer.clear': () => ({ type: 'clear' }),
  'conversation.item.create': (event) => ({
    type: 'create-item',
    item: readItem(event.item, 'item'),
    after: f.readAt(event, 'previous_item_id', '', f.optionalText),
  }),
  'conversation.item.delete': (event) => ({ type: 'delete-item', id: itemId(event) }),
  'conversation.item.retrieve': (event) => ({ type: 'retrieve-item', id: itemId(event) }),
  'conversation.item.truncate': (event) => ({
    type: 'truncate-item',
    id: itemId(event),
    contentIndex: f.readAt(event, 'content_index', '', f.orElse(f.readCount, 0)),
    audioEndMs: f.readAt(event, 'audio_end_ms', '', readMilliseconds),
  }),
  'response.create': (event) => decodeRespond(f.readAt(event, 'response', '', f.optionalObject) ?? {}),
  'response.cancel': (event) => ({
    type: 'cancel',
    responseId: f.readAt(event, 'response_id', '', f.optionalText),
  }),
  'output_audio_buffer.clear': () => {
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

function decodeUpdate(session: JsonObject): ClientEvent {
  const { audio, ...fields } = f.readFields(sessionFields, session, 'session');
  const { input, output } = audio;
  const either = <Value>(newer: Value | undefined, older: Value | undefined): Value | undefined =>
    newer === undefined ? older : newer;
  return {
    type: 'update',
    change: {
      ...responseChange(fields, output),
      type: fields.type,
      model: fields.model,
      speed: either(output.speed, fields.speed),
      inputFormat: either(input.format, fields.input_audio_format),
      transcription: either(input.transcription, fields.input_audio_transcription),
      turnDetection: either(input.turn_detection, fields.turn_detection),
    },
    ignored: withoutEffect(session, sessionFields),
  };
}

function decodeRespond(response: JsonObject): ClientEvent {
  const { audio, ...fields } = f.readFields(responseFields, response, 'response');
  return {
    type: 'respond',
    options: {
      change: responseChange(fields, audio.output),
      conversation: fields.conversation,
      input: fields.input?.map((item, index) => readInput(item, `response.input[${index}]`)),
      metadata: fields.metadata ?? null,
    },
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

function readInput(value: unknown, path: string): NewItem | { readonly type: 'reference'; readonly id: string } {
  if (f.isObject(value) && value.type === 'item_reference') {
    return { type: 'reference', id: f.readAt(value, 'id', path, f.readName) };
  }
  return readItem(value, path);
}

function readItem(value: unknown, path: string): NewItem {
  const item = f.readObject(value, path);
  const at = <Value>(name: string, read: f.Read<Value>): Value => f.readAt(item, name, path, read);
  const type = at('type', f.oneOf('message', 'function_call', 'function_call_output'));
  const id = at('id', f.optionalName);
  switch (type) {
    case 'message':
      return {
        type,
        id,
        role: at('role', f.oneOf('system', 'user', 'assistant')),
        parts: at('content', f.listOf(readPart)),
      };
    case 'function_call':
      return {
        type: 'call',
        id,
        callId: at('call_id', f.optionalName),
        name: at('name', f.readName),
        arguments: at('arguments', f.readText),
      };
    case 'function_call_output':
      return { type: 'call-output', id, callId: at('call_id', f.readName), output: at('output', f.readText) };
  }
}

const readPart: f.Read<NewPart> = (value, path) => {
  const part = f.readObject(value, path);
  const type = f.readAt(part, 'type', path, f.readText);
  switch (type) {
    case 'input_text':
    case 'output_text':
    case 'text':
      return { type: 'text', text: f.readAt(part, 'text', path, f.readText) };
    case 'input_audio':
    case 'output_audio':
    case 'audio': {
      const transcript = f.readAt(part, 'transcript', path, f.optionalText);
      if (transcript !== undefined) return { type: 'transcript', text: transcript };
      return { type: 'audio', audio: f.readAt(part, 'audio', path, readAudio) };
    }
    case 'input_image':
      throw new AppError('unsupported', {
        feature: `${path} (input_image)`,
        instead: 'a spoken conversation takes text and audio; send pictures to /v1/chat/completions',
      });
    default:
      throw f.wrong(`${path}.type`, 'one of input_text, input_audio, output_text, output_audio');
  }
};
