import { summaryText } from '../../chat/compaction-plan.ts';
import {
  assistantMessage,
  type Content,
  joinContent,
  type Message,
  plainText,
  type ToolCallRecord,
  text,
} from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import type { Source } from '../../core/server-tools.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { documentSources } from '../documents/citable.ts';
import type { SentFile } from '../documents/sent-files.ts';
import * as f from '../fields.ts';
import type { Attachments } from '../media.ts';
import { isServerCall, isServerResult, serverResultText } from './server-tools.ts';

/** Consecutive messages of one role. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly messages: (readonly Block[])[];
}

/** What is gathered while a request is decoded. */
interface Reading {
  /** Is called with the path of everything that has no effect. */
  readonly ignore: (field: string) => void;
  readonly attachments: Attachments;
  /** The pages of earlier results, and the passages of documents that can be cited, in order. */
  readonly sources: Source[];
  /** How many documents and search results there were so far. */
  readonly counts: { documents: number; results: number };
}

const readRole = f.oneOf('user', 'assistant', 'system');

/** `system` and `messages` of the request as one conversation. */
export function* decodeConversation(
  fields: { readonly system?: unknown; readonly messages: readonly unknown[] },
  reading: Reading,
): Sliced<readonly Message[]> {
  const system = f.isAbsent(fields.system) ? [] : systemTexts(readBlocks(fields.system, 'system'), reading);
  const turns: Turn[] = [];
  /** Whether a turn before the summary was skipped. */
  let begun = false;
  const add = (role: Turn['role'], blocks: readonly Block[]): void => {
    const last = turns.at(-1);
    if (last?.role === role) last.messages.push(blocks);
    else turns.push({ role, messages: [blocks] });
  };
  const summary = lastSummary(fields.messages);
  for (const [index, entry] of fields.messages.entries()) {
    const field = `messages[${index}]`;
    const message = f.readObject(entry, field);
    const role = f.readAt(message, 'role', field, readRole);
    if (summary && index < summary.message && (role !== 'system' || begun)) {
      begun = true;
      continue;
    }
    const blocks = readBlocks(message.content, `${field}.content`);
    if (index === summary?.message) {
      const [first, ...rest] = blocks.slice(summary.block);
      if (first) add('user', [first]);
      if (rest.length > 0) add(role === 'assistant' ? 'assistant' : 'user', rest);
    } else if (role !== 'system') add(role, blocks);
    else if (turns.length === 0) for (const part of systemTexts(blocks, reading)) system.push(part);
    else add('user', [systemNote(blocks, field, reading)]);
    yield;
  }
  if (turns.length === 0) throw f.wrong('messages', 'an array with at least one message of the user or the assistant');
  const toolNames = new Map<string, string>();
  const spoken: Message[] = [];
  for (const turn of turns) {
    const read = turn.role === 'assistant' ? assistantTurn : userTurn;
    for (const message of yield* read(turn, toolNames, reading)) spoken.push(message);
  }
  const opening: Message[] = system.length > 0 ? [{ role: 'system', content: text(joinTexts(system)) }] : [];
  return [...opening, ...withoutEmptyEnd(spoken)];
}

/** The last block that replaces what is before it. */
function lastSummary(messages: readonly unknown[]): { readonly message: number; readonly block: number } | undefined {
  for (let message = messages.length - 1; message >= 0; message -= 1) {
    const entry = messages[message];
    const content: unknown = f.isObject(entry) ? entry.content : undefined;
    if (!Array.isArray(content)) continue;
    const block = content.findLastIndex(
      (each) => f.isObject(each) && each.type === 'compaction' && !f.isAbsent(each.content),
    );
    if (block >= 0) return { message, block };
  }
  return undefined;
}

function systemTexts(blocks: readonly Block[], reading: Reading): string[] {
  return blocks.map((block) => blockText(block, reading)).filter((part) => part !== '');
}

/** Many templates reject or lose a later system message: it becomes part of the user's turn, between tags. */
function systemNote(blocks: readonly Block[], field: string, reading: Reading): Block {
  const note = joinTexts(blocks.map((block) => blockText(block, reading)));
  return { type: 'text', fields: { text: `<system>\n${note}\n</system>` }, field };
}

/** Results come first: a template expects them right after the calls. */
function* userTurn({ messages }: Turn, toolNames: Map<string, string>, reading: Reading): Sliced<Message[]> {
  const results: Message[] = [];
  const contents: Content[] = [];
  for (const block of messages.flat()) {
    const { type, field } = block;
    if (type === 'tool_use') throw f.wrong(`${field}.type`, 'another one: only the assistant uses tools');
    if (type === 'tool_result') results.push(toolResult(block, toolNames, reading));
    else contents.push(blockContent(block, reading));
    yield;
  }
  const content = joinContent(contents, '\n');
  return content.length > 0 || results.length === 0 ? [...results, { role: 'user', content }] : results;
}

/** Templates have no place for `is_error`, so that it becomes part of the text. */
function toolResult({ fields, field }: Block, toolNames: ReadonlyMap<string, string>, reading: Reading): Message {
  const callId = f.readAt(fields, 'tool_use_id', field, f.readText);
  const failed = f.readAt(fields, 'is_error', field, f.optionalFlag) ?? false;
  const sent = fields.content ?? [];
  const path = `${field}.content`;
  const isText = typeof sent === 'string';
  const result = isText ? reading.attachments.toolResult(sent, path) : blocksContent(sent, path, reading);
  const content = failed ? joinContent([text('Error: '), result], '') : result;
  return { role: 'tool', content, callId, toolName: toolNames.get(callId) };
}

/** What the assistant said until a result of the server, or until the end of its turn. */
interface MessageParts {
  readonly reasoning: string[];
  /** The contents of each message. */
  readonly contents: Content[][];
  readonly calls: ToolCallRecord[];
}

/** The texts of one message are concatenated; consecutive messages are paragraphs. A result of the server ends a message. */
function* assistantTurn({ messages }: Turn, toolNames: Map<string, string>, reading: Reading): Sliced<Message[]> {
  const spoken: Message[] = [];
  const results = messages.flat().filter(({ type }) => isServerResult(type));
  const answered = new Set(results.map(({ fields }) => fields.tool_use_id));
  let parts: MessageParts = { reasoning: [], contents: [], calls: [] };
  let isEmpty = true;
  const end = (): void => {
    const contents = parts.contents.map((each) => each.flat());
    if (!isEmpty) spoken.push(assistantMessage({ ...parts, contents }, '\n'));
    parts = { reasoning: [], contents: [], calls: [] };
    isEmpty = true;
  };
  for (const blocks of messages) {
    parts.contents.push([]);
    for (const block of blocks) {
      if (isServerResult(block.type)) {
        end();
        spoken.push(serverResult(block, toolNames, reading));
        parts.contents.push([]);
      } else if (isServerCall(block.type, block.fields) && !answered.has(block.fields.id)) {
        reading.ignore(block.field);
      } else {
        addBlock(parts, block, toolNames, reading);
        isEmpty = false;
      }
    }
    yield;
  }
  if (spoken.length === 0) isEmpty = false;
  end();
  return spoken;
}

function addBlock(
  { reasoning, contents, calls }: MessageParts,
  block: Block,
  toolNames: Map<string, string>,
  reading: Reading,
) {
  const { type, fields, field } = block;
  if (type === 'tool_result') throw f.wrong(`${field}.type`, 'another one: results come from the user');
  if (type === 'thinking') reasoning.push(f.readAt(fields, 'thinking', field, f.readText));
  else if (type === 'tool_use' || isServerCall(type, fields)) {
    const input = f.readAt(fields, 'input', field, f.optionalObject) ?? {};
    const id = f.readAt(fields, 'id', field, f.readText);
    const name = f.readAt(fields, 'name', field, f.readName);
    toolNames.set(id, name);
    calls.push({ id, name, json: JSON.stringify(input) });
    // Encrypted by another server, and dropped.
  } else if (type !== 'redacted_thinking') contents.at(-1)?.push(blockContent(block, reading));
}

function serverResult(
  { type, fields, field }: Block,
  toolNames: ReadonlyMap<string, string>,
  reading: Reading,
): Message {
  const callId = f.readAt(fields, 'tool_use_id', field, f.readText);
  const content = text(serverResultText(type, fields, field, reading.sources));
  return { role: 'tool', content, callId, toolName: toolNames.get(callId) };
}

/** An empty last turn of the assistant is dropped: there is nothing to continue. */
function withoutEmptyEnd(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || last.toolCalls || last.reasoning) return messages;
  const empty = last.content.every((part) => part.type === 'text' && part.text.trim() === '');
  return empty ? messages.slice(0, -1) : messages;
}

interface Block {
  readonly type: string;
  readonly fields: JsonObject;
  /** Its path: `messages[0].content[2]`. */
  readonly field: string;
}

/** A text, which is the same as one text block, or a list of blocks. */
function readBlocks(content: unknown, path: string): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', fields: { text: content }, field: path }];
  if (!Array.isArray(content)) throw f.wrong(path, 'a string or an array of content blocks');
  return content.map((entry, index) => {
    const field = `${path}[${index}]`;
    const fields = f.readObject(entry, field);
    return { type: f.readAt(fields, 'type', field, f.readText), fields, field };
  });
}

type BlockReader = (block: Block, reading: Reading) => Content;

/** The blocks that are content, for every role. */
export const blockKinds: Readonly<Record<string, f.FieldNote & { readonly read: BlockReader }>> = {
  text: { handling: 'honoured', read: ({ fields, field }) => text(f.readAt(fields, 'text', field, f.readText)) },
  image: {
    handling: 'honoured',
    read: image,
    note: 'Sources base64, file, and url (on the public internet; 10 MB, 10 seconds, at most 16). All pictures are refused if the model has no projector (--mmproj). Not included in token counts (x-parley-warnings).',
  },
  document: {
    handling: 'approximated',
    read: document,
    note: 'Its text, with title and context: sources text, content, base64, url and file (text, PDF, docx, odt, epub, rtf, HTML, e-mail; at most 32). Pages of a PDF are read as text, not as pictures. With citations.enabled the model is asked to cite its passages by number: the numbers become citations of the reply (char_location, page_location, content_block_location), whose cited_text is the paragraph; a text block ends with its citations. Only some documents may have citations.',
  },
  search_result: {
    handling: 'honoured',
    read: searchResult,
    note: 'As text with its title and source; with citations.enabled cited as search_result_location.',
  },
  compaction: {
    handling: 'honoured',
    read: ({ fields, field }) => {
      const summary = f.readAt(fields, 'content', field, f.optionalText);
      if (summary === '') throw f.wrong(`${field}.content`, 'the summary, or null if there is none');
      return summary === undefined ? [] : text(summaryText(summary));
    },
    note: 'A summary: everything before the last one is left out, but the system prompt. Without effect if its content is null.',
  },
  tool_reference: {
    handling: 'approximated',
    read: ({ fields, field }) => text(`Tool found: ${f.readAt(fields, 'tool_name', field, f.readText)}`),
    note: 'The name of the tool, as text.',
  },
};

/** Blocks of unknown kinds are ignored, as their clients expect. */
function blockContent(block: Block, reading: Reading): Content {
  const kind = Object.hasOwn(blockKinds, block.type) ? blockKinds[block.type] : undefined;
  if (kind) return kind.read(block, reading);
  reading.ignore(block.field);
  return [];
}

/** A block in a system prompt, which can only be text. */
function blockText(block: Block, reading: Reading): string {
  if (block.type === 'image') throw f.wrong(`${block.field}.type`, 'another one: a system prompt is only text');
  return plainText(blockContent(block, reading));
}

function joinTexts(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n');
}

function blocksContent(content: unknown, field: string, reading: Reading): Content {
  return joinContent(contentBlocks(content, field, reading), '\n');
}

function contentBlocks(content: unknown, field: string, reading: Reading): readonly Content[] {
  return readBlocks(content, field).map((block) => blockContent(block, reading));
}

const readImageSource = f.oneOf('base64', 'url', 'file');

function image({ fields, field }: Block, { attachments }: Reading): Content {
  const path = `${field}.source`;
  const source = f.readObject(fields.source, path);
  const type = readImageSource(source.type, `${path}.type`);
  if (type === 'file') {
    const file = attachments.file(fields);
    if (file?.type === 'medium' && file.kind === 'image') return [attachments.addFile(file, path)];
    if (file) throw f.wrong(`${path}.file_id`, `the id of a picture, and ${file.name} is none`);
    throw unloaded(path);
  }
  const format = type === 'base64' ? f.readAt(source, 'media_type', path, f.optionalText) : undefined;
  const name = type === 'base64' ? 'data' : 'url';
  const data = f.readAt(source, name, path, f.readText);
  return [attachments.add({ kind: 'image', data, field: `${path}.${name}`, format })];
}

function document({ fields, field }: Block, reading: Reading): Content {
  const path = `${field}.source`;
  const source = f.readObject(fields.source, path);
  const type = f.readAt(source, 'type', path, f.readText);
  const title = f.readAt(fields, 'title', field, f.optionalText);
  const context = f.readAt(fields, 'context', field, f.optionalText);
  const header = [...(title ? [`Title: ${title}`] : []), ...(context ? [`Context: ${context}`] : [])];
  const index = reading.counts.documents++;
  const isCited = wantsCitations(fields, field);
  if (type === 'content') {
    const blocks = contentBlocks(source.content, `${path}.content`, reading);
    if (!isCited) return tagged('document', header, joinContent(blocks, '\n'));
    const cited = numbered(blocks, reading, (passage, block) => {
      const place = { type: 'document', index, range: { type: 'block', block } } as const;
      return { url: '', title: title ?? '', text: passage, location: place };
    });
    return tagged('document', [...header, citingNote], joinContent(cited, '\n'));
  }
  const file = loadedDocument(fields, source, type, path, reading);
  if (!isCited) return tagged('document', header, text(file.document.text));
  const sources = documentSources(file.document, { title: title ?? file.name, index, file: file.id });
  const passages = sources.map((own) => text(`[${reading.sources.push(own)}] ${own.text}`));
  return tagged('document', [...header, citingNote], joinContent(passages, '\n'));
}

/** Of a text source as it is sent, of others as it was loaded before. */
function loadedDocument(fields: JsonObject, source: JsonObject, type: string, path: string, reading: Reading) {
  if (type === 'text') {
    const data = f.readAt(source, 'data', path, f.readText);
    return { document: { title: '', text: data, sections: [] }, name: '', id: undefined };
  }
  if (!fileSources.has(type)) throw f.wrong(`${path}.type`, 'one of text, content, base64, url, file');
  const file = reading.attachments.file(fields);
  if (file?.type === 'medium')
    throw f.wrong(path, `a document, and ${file.name} is none; send it in a block of the type image`);
  if (!file) throw unloaded(path);
  return { document: file.document, name: file.name === 'file' ? '' : file.name, id: file.file };
}

const fileSources: ReadonlySet<string> = new Set(['base64', 'url', 'file']);

function unloaded(path: string): AppError {
  const instead = 'send what it says with a source of the type text';
  return new AppError('unsupported', { feature: `A file of this kind (${path})`, instead });
}

/** The files whose content is loaded before the conversation is read. */
export function messageFile(part: JsonObject, at: string): SentFile | undefined {
  const { type, source } = part;
  if ((type !== 'document' && type !== 'image') || !f.isObject(source)) return undefined;
  const path = `${at}.source`;
  if (source.type === 'file') {
    const id = f.readAt(source, 'file_id', path, f.readName);
    return { field: `${path}.file_id`, source: { type: 'file', id } };
  }
  // Pictures that are sent along are no files.
  if (type === 'image') return undefined;
  const name = f.readAt(part, 'title', at, f.optionalText);
  if (source.type === 'url') {
    return { field: `${path}.url`, source: { type: 'address', url: f.readAt(source, 'url', path, f.readName) } };
  }
  if (source.type !== 'base64') return undefined;
  const mime = f.readAt(source, 'media_type', path, f.optionalText);
  const data = f.readAt(source, 'data', path, f.readText);
  return { field: `${path}.data`, name, mime, source: { type: 'data', data } };
}

function searchResult({ fields, field }: Block, reading: Reading): Content {
  const title = f.readAt(fields, 'title', field, f.readText);
  const source = f.readAt(fields, 'source', field, f.readText);
  const blocks = contentBlocks(f.readAt(fields, 'content', field, f.readList), `${field}.content`, reading);
  const header = [`Title: ${title}`, `Source: ${source}`];
  const index = reading.counts.results++;
  if (!wantsCitations(fields, field)) return tagged('search_result', header, joinContent(blocks, '\n'));
  const cited = numbered(blocks, reading, (passage, block) => {
    return { url: '', title, text: passage, location: { type: 'search-result', index, source, block } };
  });
  return tagged('search_result', [...header, citingNote], joinContent(cited, '\n'));
}

const citingNote =
  'Cite these passages by their number in brackets, like [1], right after each statement of the answer that they support.';

function wantsCitations(fields: JsonObject, field: string): boolean {
  const citations = f.readAt(fields, 'citations', field, f.optionalObject) ?? {};
  return f.readAt(citations, 'enabled', `${field}.citations`, f.optionalFlag) ?? false;
}

/** Blocks of text with their number; they are not cut further. */
function numbered(
  blocks: readonly Content[],
  reading: Reading,
  sourceOf: (content: string, block: number) => Source,
): readonly Content[] {
  return blocks.map((block, index) => {
    const content = plainText(block);
    return content.trim() === '' ? block : [...text(`[${reading.sources.push(sourceOf(content, index))}] `), ...block];
  });
}

function tagged(tag: string, header: readonly string[], content: Content): Content {
  return joinContent([text([`<${tag}>`, ...header].join('\n')), content, text(`</${tag}>`)], '\n');
}
