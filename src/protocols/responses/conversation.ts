import { isUtf8 } from 'node:buffer';
import { joinUserTurns, summaryMessage } from '../../chat/compaction-plan.ts';
import { assistantMessage, type Content, type Message, plainText, type TurnPieces, text } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import type { Source } from '../../core/server-tools.ts';
import type { JsonObject } from '../../http/body.ts';
import type { StoredItem } from '../../store/responses.ts';
import type { SentFile } from '../documents/sent-files.ts';
import { isAbsent, isObject, optionalText, readAt, readText, wrong } from '../fields.ts';
import { type Attachments, dataUrlKind } from '../media.ts';
import { unsealText } from '../sealed-text.ts';
import { readCompactionItem } from './compaction.ts';
import { readFileSearchCall } from './file-search.ts';
import { readApprovals, readMcpCall, readRequest } from './mcp-tools.ts';
import { customArguments, knownName, type OfferedTool } from './tools.ts';
import { citedTitles, readSearchCall } from './web-search.ts';

/** An item of the request, and its path for error messages. */
export interface InputItem {
  readonly item: StoredItem;
  readonly at: string;
}

interface Reading {
  readonly offered: readonly OfferedTool[];
  readonly attachments: Attachments;
  /** The pages of earlier searches, in order. */
  readonly sources: Source[];
}

export function* readConversation(items: readonly InputItem[], { offered, attachments, sources }: Reading) {
  const messages: Message[] = [];
  // The paths and types of items of unknown types.
  const skipped: string[] = [];
  const toolNames = new Map<string, string>();
  /** The MCP servers whose tools it lists. */
  const listed = new Set<string>();
  // Approved calls are run before the model answers.
  const { results, approved } = readApprovals(items);
  const titles = citedTitles(items);
  /** Consecutive reasoning, text and calls are one turn of the assistant. */
  let turn: TurnPieces | undefined;
  /** The number of messages up to a summary. */
  let summarised = 0;

  const assistant = (): TurnPieces => {
    turn ??= { reasoning: [], contents: [], calls: [] };
    return turn;
  };
  const add = (message: Message): void => {
    if (turn) messages.push(assistantMessage(turn, '\n\n'));
    turn = undefined;
    messages.push(message);
  };
  const call = (item: StoredItem, at: string, json: string): void => {
    const id = readAt(item, 'call_id', at, readText);
    const name = knownName(offered, item, at);
    toolNames.set(id, name);
    assistant().calls.push({ id, name, json });
  };
  const ranCall = (id: string, { name, json, result }: { name: string; json: string; result: string }): void => {
    assistant().calls.push({ id, name, json });
    add({ role: 'tool', content: text(result), callId: id, toolName: name });
  };

  const readServerCall = (item: StoredItem, at: string) => {
    if (item.type === 'mcp_call') return readMcpCall(item, at);
    if (item.type === 'file_search_call') return readFileSearchCall(item, at, sources);
    return readSearchCall(item, at, { sources, titles });
  };

  for (const { item, at } of items) {
    yield;
    switch (item.type) {
      case 'message': {
        const content = readContent(item.content, `${at}.content`, attachments);
        if (item.role === 'assistant') assistant().contents.push(content);
        else if (item.role === 'user') add({ role: 'user', content });
        else if (item.role === 'system' || item.role === 'developer') add({ role: 'system', content });
        else throw wrong(`${at}.role`, '"user", "assistant", "system" or "developer"');
        break;
      }
      case 'reasoning':
        assistant().reasoning.push(reasoningText(item, at, attachments));
        break;
      case 'function_call':
        // A few clients send the arguments as an object.
        if (isObject(item.arguments)) call(item, at, JSON.stringify(item.arguments));
        else call(item, at, readAt(item, 'arguments', at, readText));
        break;
      case 'custom_tool_call':
        call(item, at, customArguments(readAt(item, 'input', at, readText)));
        break;
      case 'function_call_output':
      case 'custom_tool_call_output': {
        const callId = readAt(item, 'call_id', at, readText);
        const content = outputContent(item.output, `${at}.output`, attachments);
        add({ role: 'tool', content, callId, toolName: toolNames.get(callId) });
        break;
      }
      case 'compaction': {
        const { summary } = readCompactionItem(item, at);
        if (summary === null) break;
        add(summaryMessage(summary));
        summarised = messages.length;
        break;
      }
      case 'web_search_call':
      case 'file_search_call':
      case 'mcp_call': {
        const ran = readServerCall(item, at);
        if (ran) ranCall(item.id, ran);
        else skipped.push(`${at} (${item.type})`);
        break;
      }
      case 'mcp_list_tools':
        if (typeof item.server_label === 'string' && isAbsent(item.error)) listed.add(item.server_label);
        break;
      case 'mcp_approval_request': {
        const result = results.get(item.id);
        if (result !== undefined) ranCall(item.id, { ...readRequest(item, at), result });
        break;
      }
      case 'mcp_approval_response':
        break;
      default:
        skipped.push(`${at} (${item.type})`);
    }
  }
  if (turn) messages.push(assistantMessage(turn, '\n\n'));
  const joined = summarised === 0 ? messages : joinUserTurns(messages.slice(0, summarised), messages.slice(summarised));
  return { messages: joined, skipped, listed, approved };
}

function outputContent(output: unknown, at: string, attachments: Attachments): Content {
  if (isAbsent(output)) throw wrong(at, 'a string or an array of content parts');
  return typeof output === 'string' ? attachments.toolResult(output, at) : readContent(output, at, attachments);
}

/** The first of three fields that is not empty: clients differ in which they send back. */
function reasoningText(item: StoredItem, at: string, attachments: Attachments): string {
  const parts = (field: string): string =>
    readContent(item[field], `${at}.${field}`, attachments)
      .map((part) => plainText([part]))
      .join('\n\n');
  return parts('content') || parts('summary') || unsealText(readAt(item, 'encrypted_content', at, optionalText) ?? '');
}

type PartReader = (part: JsonObject, at: string, attachments: Attachments) => Content;

const textPart: PartReader = (part, at) => text(readAt(part, 'text', at, readText));

/** Clients use the kinds of text for one another, so that all are accepted everywhere. */
const partReaders = new Map<unknown, PartReader>([
  ...['input_text', 'output_text', 'text', 'summary_text', 'reasoning_text'].map((type) => [type, textPart] as const),
  ['refusal', (part, at) => text(readAt(part, 'refusal', at, readText))],
  ['input_file', filePart],
  ['input_image', imagePart],
  ['input_audio', audioPart],
]);

/** A text, or a list of parts; `at` is its path. */
function readContent(value: unknown, at: string, attachments: Attachments): Content {
  if (isAbsent(value)) return [];
  if (typeof value === 'string') return text(value);
  if (!Array.isArray(value)) throw wrong(at, 'a string or an array of content parts');
  return value.flatMap((part, index): Content => {
    const partAt = `${at}[${index}]`;
    if (!isObject(part)) throw wrong(partAt, 'an object');
    const read = partReaders.get(part.type);
    if (!read) throw wrong(`${partAt}.type`, `one of ${[...partReaders.keys()].join(', ')}`);
    return read(part, partAt, attachments);
  });
}

/** The address is a text, or an object as in chat completions. */
function imagePart(part: JsonObject, at: string, attachments: Attachments): Content {
  const file = attachments.file(part);
  if (file?.type === 'medium') return [attachments.addFile(file, `${at}.file_id`)];
  if (file) throw wrong(`${at}.file_id`, `the id of a picture, and ${file.name} is none`);
  if (isAbsent(part.image_url) && !isAbsent(part.file_id)) {
    throw refuseFile('Image', at, 'only pictures that are sent along in image_url can be read here');
  }
  const { image_url: sent } = part;
  const field = isObject(sent) ? `${at}.image_url.url` : `${at}.image_url`;
  const data = readText(isObject(sent) ? sent.url : sent, field);
  return [attachments.add({ kind: 'image', data, field })];
}

function audioPart(part: JsonObject, at: string, attachments: Attachments): Content {
  const audioAt = `${at}.input_audio`;
  if (!isObject(part.input_audio)) throw wrong(audioAt, 'an object with data and format');
  const format = readAt(part.input_audio, 'format', audioAt, optionalText);
  const data = readAt(part.input_audio, 'data', audioAt, readText);
  return [attachments.add({ kind: 'audio', data, field: `${audioAt}.data`, format })];
}

/** The text of a document, or a picture or sound. */
function filePart(part: JsonObject, at: string, attachments: Attachments): Content {
  const file = attachments.file(part);
  if (file?.type === 'medium') return [attachments.addFile(file, at)];
  if (file) return text(`${file.name}:\n${file.document.text}\n`);
  const data = readAt(part, 'file_data', at, optionalText);
  const name = readAt(part, 'filename', at, optionalText);
  if (data === undefined) throw refuseFile('File', at, 'only files that are sent along in file_data can be read here');
  const kind = dataUrlKind(data);
  if (kind) return [attachments.add({ kind, data, field: `${at}.file_data` })];
  const bytes = Buffer.from(data.replace(/^data:[^,]*,/, ''), 'base64');
  if (bytes.length === 0 || !isUtf8(bytes) || bytes.includes(0)) {
    throw refuseFile('File', at, 'only text files and pictures can be read');
  }
  return text(`${name === undefined ? '' : `${name}:\n`}${bytes.toString('utf8')}\n`);
}

/** The files whose content is loaded before the conversation is read. */
export function responseFile(part: JsonObject, at: string): SentFile | undefined {
  const textAt = (name: string) => readAt(part, name, at, optionalText);
  if (part.type === 'input_image') {
    const id = isAbsent(part.image_url) ? textAt('file_id') : undefined;
    return id === undefined ? undefined : { field: `${at}.file_id`, source: { type: 'file', id } };
  }
  if (part.type !== 'input_file') return undefined;
  const name = textAt('filename');
  const [id, url, data] = [textAt('file_id'), textAt('file_url'), textAt('file_data')];
  if ([id, url, data].filter((each) => each !== undefined).length !== 1) {
    throw wrong(at, 'a file with one of file_id, file_url and file_data');
  }
  if (id !== undefined) return { field: `${at}.file_id`, name, source: { type: 'file', id } };
  if (url !== undefined) return { field: `${at}.file_url`, name, source: { type: 'address', url } };
  if (data === undefined || dataUrlKind(data)) return undefined;
  return { field: `${at}.file_data`, name, source: { type: 'data', data } };
}

function refuseFile(what: 'File' | 'Image', at: string, instead: string): AppError {
  return new AppError('unsupported', { feature: `${what} input (${at})`, instead });
}
