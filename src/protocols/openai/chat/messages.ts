import { isUtf8 } from 'node:buffer';
import { type Content, type Message, type ToolCallRecord, text } from '../../../chat/messages.ts';
import type { Sliced } from '../../../core/slices.ts';
import type { JsonObject } from '../../../http/body.ts';
import type { SentFile } from '../../documents/sent-files.ts';
import * as f from '../../fields.ts';
import { type Attachments, dataUrlKind } from '../../media.ts';
import { unsupportedField } from '../errors.ts';
import { projector } from '../fields.ts';

export const readMessages = f.reader<readonly unknown[]>(
  'an array that is not empty',
  (value) => Array.isArray(value) && value.length > 0,
  f.messagesSchema,
);

export function* decodeMessages(list: readonly unknown[], attachments: Attachments): Sliced<readonly Message[]> {
  const messages: Message[] = [];
  const toolNames = new Map<string, string>();
  for (const [index, entry] of list.entries()) {
    const path = `messages[${index}]`;
    if (!f.isObject(entry)) throw f.wrong(path, 'an object with role and content');
    messages.push(decodeMessage(entry, path, { toolNames, attachments }));
    yield;
  }
  return messages;
}

interface Conversation {
  /** The tool of each call so far, by the id of the call. If an id was used twice, a result belongs to the newer call. */
  readonly toolNames: Map<string, string>;
  readonly attachments: Attachments;
}

function decodeMessage(message: JsonObject, path: string, conversation: Conversation): Message {
  const role = f.readAt(message, 'role', path, f.readName);
  const content = () => decodeContent(message.content, `${path}.content`, conversation.attachments);
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: content() };
    case 'user':
      return { role: 'user', content: content() };
    case 'assistant':
      return decodeAssistant(message, path, conversation);
    case 'tool':
    case 'function':
      return decodeResult(message, path, conversation);
    default:
      return { role: 'other', roleName: role, content: content() };
  }
}

/** The content may be absent if there are calls, reasoning or a refusal. */
function decodeAssistant(message: JsonObject, path: string, { toolNames, attachments }: Conversation): Message {
  const toolCalls = [...decodeCalls(message, path), ...legacyCall(message, path)];
  const reasoning =
    f.readAt(message, 'reasoning_content', path, f.optionalText) ??
    f.readAt(message, 'reasoning', path, f.optionalText);
  const refusal = f.readAt(message, 'refusal', path, f.optionalText);
  const silent = f.isAbsent(message.content);
  if (silent && toolCalls.length === 0 && !reasoning && !refusal) {
    throw f.wrong(`${path}.content`, 'given where there are no tool_calls');
  }
  const content = silent ? text(refusal ?? '') : decodeContent(message.content, `${path}.content`, attachments);
  // Of two calls in one message with the same id the first one counts.
  for (const { id, name } of toolCalls.toReversed()) toolNames.set(id, name);
  return { role: 'assistant', content, ...(reasoning && { reasoning }), ...(toolCalls.length > 0 && { toolCalls }) };
}

function decodeCalls(message: JsonObject, path: string): readonly ToolCallRecord[] {
  const calls = f.readAt(message, 'tool_calls', path, f.optionalList) ?? [];
  return calls.map((call, index) => {
    const callPath = `${path}.tool_calls[${index}]`;
    if (!f.isObject(call)) throw f.wrong(callPath, 'an object with id and function');
    const id = f.readAt(call, 'id', callPath, f.optionalText) ?? '';
    const custom = f.readAt(call, 'custom', callPath, f.optionalObject);
    if (custom) {
      const input = f.readAt(custom, 'input', `${callPath}.custom`, f.optionalText) ?? '';
      return { id, name: f.readAt(custom, 'name', `${callPath}.custom`, f.readName), json: JSON.stringify({ input }) };
    }
    return namedCall(id, f.readAt(call, 'function', callPath, f.optionalObject) ?? {}, `${callPath}.function`);
  });
}

function legacyCall(message: JsonObject, path: string): readonly ToolCallRecord[] {
  const called = f.readAt(message, 'function_call', path, f.optionalObject);
  return called ? [namedCall('', called, `${path}.function_call`)] : [];
}

/** Arguments are JSON text; some clients send them as the object itself. */
function namedCall(id: string, called: JsonObject, path: string): ToolCallRecord {
  const name = f.readAt(called, 'name', path, f.readName);
  if (f.isObject(called.arguments)) return { id, name, json: JSON.stringify(called.arguments) };
  return { id, name, json: f.readAt(called, 'arguments', path, f.optionalText) || '{}' };
}

function decodeResult(message: JsonObject, path: string, { toolNames, attachments }: Conversation): Message {
  const callId = f.readAt(message, 'tool_call_id', path, f.optionalText);
  const toolName =
    f.readAt(message, 'name', path, f.optionalText) ?? (callId === undefined ? undefined : toolNames.get(callId));
  const field = `${path}.content`;
  const sent = f.isAbsent(message.content) ? [] : decodeContent(message.content, field, attachments);
  return {
    role: 'tool',
    content: sent.flatMap((part) => (part.type === 'text' ? attachments.toolResult(part.text, field) : [part])),
    ...(callId !== undefined && { callId }),
    ...(toolName !== undefined && { toolName }),
  };
}

/** Chat templates have no place for the name of a speaker: such names are reported as ignored. */
export function hasSpeakerNames(messages: readonly unknown[]): boolean {
  const spoken = ['system', 'developer', 'user', 'assistant'];
  return messages.some(
    (message) => f.isObject(message) && spoken.includes(String(message.role)) && !f.isAbsent(message.name),
  );
}

/** A text, or a list of parts whose texts are concatenated. */
function decodeContent(value: unknown, path: string, attachments: Attachments): Content {
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) throw f.wrong(path, 'a string or an array of content parts');
  return value.flatMap((part, index) => decodePart(part, `${path}[${index}]`, attachments));
}

type PartReader = (part: JsonObject, path: string, attachments: Attachments) => Content;

/** The kinds of content parts. */
export const partKinds: Readonly<Record<string, f.FieldNote & { readonly read: PartReader }>> = {
  text: { handling: 'honoured', read: (part, path) => text(f.readAt(part, 'text', path, f.optionalText) ?? '') },
  refusal: { handling: 'honoured', read: (part, path) => text(f.readAt(part, 'refusal', path, f.optionalText) ?? '') },
  image_url: {
    handling: 'approximated',
    read: imageUrl,
    note: `A data URL, bare base64, or an address on the public internet (10 MB, 10 seconds, at most 16); detail has no effect. ${projector}`,
  },
  // A form of the native API, with the picture itself.
  image: { handling: 'honoured', read: image, note: `Base64 in data. ${projector}` },
  input_audio: { handling: 'honoured', read: inputAudio, note: `Base64 or a data URL. ${projector}` },
  file: {
    handling: 'approximated',
    read: readFile,
    note: 'By file_id or in file_data (a data URL or base64): pictures, sounds, and the text of documents (text, PDF, docx, odt, epub, rtf, HTML, e-mail), at most 32.',
  },
};

function decodePart(part: unknown, path: string, attachments: Attachments): Content {
  if (typeof part === 'string') return text(part);
  if (!f.isObject(part)) throw f.wrong(path, 'a content part');
  const type = f.readAt(part, 'type', path, f.readName);
  const kind = Object.hasOwn(partKinds, type) ? partKinds[type] : undefined;
  if (kind) return kind.read(part, path, attachments);
  const instead = 'text, pictures and sounds are what this server can read';
  throw unsupportedField(`${path}.type`, instead, 'unsupported_value');
}

function image(part: JsonObject, path: string, attachments: Attachments): Content {
  const format = f.readAt(part, 'mime_type', path, f.optionalText);
  const data = f.readAt(part, 'data', path, f.readName);
  return [attachments.add({ kind: 'image', data, field: `${path}.data`, format })];
}

/** An object with the address, or the address alone: some clients leave the object out. */
function imageUrl(part: JsonObject, path: string, attachments: Attachments): Content {
  const imagePath = `${path}.image_url`;
  const bare = typeof part.image_url === 'string';
  const field = bare ? imagePath : `${imagePath}.url`;
  const data = f.readName(bare ? part.image_url : f.optionalObject(part.image_url, imagePath)?.url, field);
  return [attachments.add({ kind: 'image', data, field })];
}

function inputAudio(part: JsonObject, path: string, attachments: Attachments): Content {
  const audioPath = `${path}.input_audio`;
  const audio = f.optionalObject(part.input_audio, audioPath) ?? {};
  const format = f.readAt(audio, 'format', audioPath, f.optionalText);
  const data = f.readAt(audio, 'data', audioPath, f.readName);
  return [attachments.add({ kind: 'audio', data, field: `${audioPath}.data`, format })];
}

const dataUrl = /^data:([^;,]*)(?:;[^;,=]+=[^;,]*)*;base64,/;

/** The files whose content is loaded before the conversation is read. */
export function chatFile(part: JsonObject, path: string): SentFile | undefined {
  const file = part.type === 'file' ? f.readAt(part, 'file', path, f.optionalObject) : undefined;
  if (!file) return undefined;
  const within = `${path}.file`;
  const name = f.readAt(file, 'filename', within, f.optionalText);
  const id = f.readAt(file, 'file_id', within, f.optionalText);
  const data = f.readAt(file, 'file_data', within, f.optionalText);
  if (id !== undefined && data !== undefined) throw f.wrong(within, 'a file with either file_id or file_data');
  if (id !== undefined) return { field: `${within}.file_id`, name, source: { type: 'file', id } };
  if (!data && !f.isAbsent(file.file_url)) {
    const instead =
      'this API takes no addresses of files; send the file in file_data, or upload it and send its file_id';
    throw unsupportedField(`${within}.file_url`, instead);
  }
  if (!data || dataUrlKind(data)) return undefined;
  return { field: `${within}.file_data`, name, source: { type: 'data', data } };
}

/** The text of a document, or a picture or sound. */
function readFile(part: JsonObject, path: string, attachments: Attachments): Content {
  const loaded = attachments.file(part);
  if (loaded?.type === 'medium') return [attachments.addFile(loaded, `${path}.file`)];
  if (loaded) return text(loaded.document.text);
  const file = f.readAt(part, 'file', path, f.optionalObject) ?? {};
  const field = `${path}.file.file_data`;
  const data = f.optionalText(file.file_data, field) ?? '';
  if (data === '') throw f.wrong(`${path}.file`, 'a file with file_id or file_data, and has neither');
  const kind = dataUrlKind(data);
  if (kind) return [attachments.add({ kind, data, field })];
  const header = dataUrl.exec(data);
  const bytes = Buffer.from(header ? data.slice(header[0].length) : '', 'base64');
  if (header && isText(header[1] ?? '') && isUtf8(bytes)) return text(bytes.toString('utf8'));
  const instead = 'send a text file or a picture as a data URL in file_data';
  throw unsupportedField(`${path}.file`, instead, 'unsupported_value');
}

function isText(mime: string): boolean {
  return mime === '' || mime.startsWith('text/') || /^application\/(json|xml|yaml|x-yaml|toml|javascript)$/.test(mime);
}
