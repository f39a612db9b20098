import { type Content, joinContent, type Message, type ToolCallRecord, text, wordsOf } from '../../chat/messages.ts';
import { AppError } from '../../core/errors.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import {
  isAbsent,
  oneOf,
  optionalFlag,
  optionalObject,
  optionalText,
  type Read,
  readAt,
  readList,
  readName,
  readObject,
  readText,
  wrong,
} from '../fields/readers.ts';
import type { Said } from '../fields/table.ts';
import type { Attachments } from '../media.ts';

/** One turn with everything that was said in it; wire messages of the same side that follow each other are one turn. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly messages: Block[][];
}

interface Spoken {
  readonly system?: unknown;
  readonly messages: readonly unknown[];
}

/** `system` and `messages` of the request as one conversation. */
export function* decodeConversation(fields: Spoken, reading: Reading): Sliced<readonly Message[]> {
  const system = isAbsent(fields.system) ? [] : systemTexts(readBlocks(fields.system, 'system'), reading);
  const turns: Turn[] = [];
  for (const [index, entry] of fields.messages.entries()) {
    const field = `messages[${index}]`;
    const message = readObject(entry, field);
    const role = readAt(message, 'role', field, readRole);
    const blocks = readBlocks(message.content, `${field}.content`);
    if (role !== 'system') addTurn(turns, role, blocks);
    else if (turns.length === 0) for (const told of systemTexts(blocks, reading)) system.push(told);
    else addTurn(turns, 'user', [systemNote(blocks, field, reading)]);
    yield;
  }
  if (turns.length === 0) throw wrong('messages', 'an array with at least one message of the user or the assistant');
  const names = new Map<string, string>();
  const spoken: Message[] = [];
  for (const turn of turns) {
    if (turn.role === 'assistant') spoken.push(yield* assistantTurn(turn, names, reading));
    else for (const message of yield* userTurn(turn, names, reading)) spoken.push(message);
  }
  const opening: Message[] = system.length > 0 ? [{ role: 'system', content: text(joinTexts(system)) }] : [];
  return [...opening, ...withoutEmptyEnd(spoken)];
}

const readRole = oneOf('user', 'assistant', 'system');

function addTurn(turns: Turn[], role: Turn['role'], blocks: readonly Block[]): void {
  const last = turns.at(-1);
  if (last?.role === role) last.messages.push([...blocks]);
  else turns.push({ role, messages: [[...blocks]] });
}

/**
 * The first line that coding agents send to the billing of the original service. It says nothing to a model, and as
 * part of it changes with each request, it would keep the whole prompt from being found in the cache.
 */
const billing = /^x-anthropic-billing-header:[^\n]*\n?/;

function systemTexts(blocks: readonly Block[], reading: Reading): string[] {
  return blocks.map((block) => blockText(block, reading).replace(billing, '')).filter((part) => part !== '');
}

/**
 * Many templates refuse or lose a system turn in the middle. What it says is kept in its place, inside the turn of the
 * user, between tags that tell who speaks.
 */
function systemNote(blocks: readonly Block[], field: string, reading: Reading): Block {
  const note = joinTexts(blocks.map((block) => blockText(block, reading)));
  return { type: 'text', fields: { text: `<system>\n${note}\n</system>` }, field };
}

/** Results come first: a template expects them right behind the calls. */
function* userTurn({ messages }: Turn, names: ReadonlyMap<string, string>, reading: Reading): Sliced<Message[]> {
  const results: Message[] = [];
  const said: Content[] = [];
  for (const block of messages.flat()) {
    if (block.type === 'tool_result') results.push(toolResult(block, names, reading));
    else said.push(userContent(block, reading));
    yield;
  }
  const content = joinContent(said, '\n');
  return content.length > 0 || results.length === 0 ? [...results, { role: 'user', content }] : results;
}

function userContent(block: Block, reading: Reading): Content {
  if (block.type === 'tool_use') throw wrong(`${block.field}.type`, 'another one: only the assistant uses tools');
  return blockContent(block, reading);
}

/** Templates have no place for the mark of a failure, so the text says it. */
function toolResult({ fields, field }: Block, names: ReadonlyMap<string, string>, reading: Reading): Message {
  const callId = readAt(fields, 'tool_use_id', field, readText);
  const failed = readAt(fields, 'is_error', field, optionalFlag) ?? false;
  const result = resultContent(fields.content, `${field}.content`, reading);
  const toolName = names.get(callId);
  const content = failed ? joinContent([text('Error: '), result], '') : result;
  return { role: 'tool', content, callId, ...(toolName === undefined ? {} : { toolName }) };
}

/** Blocks of one message are pieces of one text; messages that follow each other are paragraphs. */
function* assistantTurn({ messages }: Turn, names: Map<string, string>, reading: Reading): Sliced<Message> {
  const blocks = messages.flat();
  const reasoning = joinTexts(blocks.filter(({ type }) => type === 'thinking').map(thinkingText));
  const toolCalls = blocks.filter(({ type }) => type === 'tool_use').map(toolCall);
  for (const { id, name } of toolCalls) names.set(id, name);
  const said: Content[] = [];
  for (const each of messages) {
    said.push(each.flatMap((block) => assistantContent(block, reading)));
    yield;
  }
  const content = joinContent(said, '\n');
  return {
    role: 'assistant',
    content,
    ...(reasoning === '' ? {} : { reasoning }),
    ...(toolCalls.length === 0 ? {} : { toolCalls }),
  };
}

/** Blocks of the assistant that are no text; those that nobody can read (they are encrypted) are dropped on purpose. */
const silent = new Set(['thinking', 'redacted_thinking', 'tool_use']);

function assistantContent(block: Block, reading: Reading): Content {
  if (block.type === 'tool_result') throw wrong(`${block.field}.type`, 'another one: results come from the user');
  return silent.has(block.type) ? [] : blockContent(block, reading);
}

function thinkingText({ fields, field }: Block): string {
  return readAt(fields, 'thinking', field, readText);
}

function toolCall({ fields, field }: Block): ToolCallRecord {
  const input = readAt(fields, 'input', field, optionalObject) ?? {};
  return {
    id: readAt(fields, 'id', field, readText),
    name: readAt(fields, 'name', field, readName),
    json: JSON.stringify(input),
  };
}

/** An empty last turn of the assistant asks for an answer like any other: there is nothing to go on from. */
function withoutEmptyEnd(messages: readonly Message[]): readonly Message[] {
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || last.toolCalls || last.reasoning) return messages;
  const empty = last.content.every((part) => part.type === 'text' && part.text.trim() === '');
  return empty ? messages.slice(0, -1) : messages;
}

interface Block {
  readonly type: string;
  readonly fields: JsonObject;
  /** Where it stands in the request: `messages[0].content[2]`. */
  readonly field: string;
}

/** Told of the place of everything that has no effect, so that the client can be told too. */
export type Pass = (field: string) => void;

/** A content is a text, which is the same as one block of text, or a list of blocks. */
function readBlocks(content: unknown, field: string): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', fields: { text: content }, field }];
  if (!Array.isArray(content)) throw wrong(field, 'a string or an array of content blocks');
  return content.map((entry, index) => readBlock(entry, `${field}[${index}]`));
}

const readBlock: Read<Block> = (value, field) => {
  const fields = readObject(value, field);
  return { type: readAt(fields, 'type', field, readText), fields, field };
};

/** What a request is read into, beside its text. */
interface Reading {
  readonly pass: Pass;
  readonly attachments: Attachments;
}

type BlockReader = (block: Block, reading: Reading) => Content;

/** The blocks that say or show something wherever they stand. */
export const blockKinds: Readonly<Record<string, Said & { readonly read: BlockReader }>> = {
  text: { handling: 'honoured', read: ({ fields, field }) => text(readAt(fields, 'text', field, readText)) },
  image: {
    handling: 'honoured',
    read: image,
    note: 'Sources base64 and url (on the public internet; 10 MB, 10 seconds, at most 16); file ids are refused, and so is every picture where the loaded model has no projector (--mmproj). Not in the count of tokens, which then says so in x-parley-warnings.',
  },
  document: {
    handling: 'approximated',
    read: document,
    note: 'Sources text and content are put in as text with title and context; citations are not made. PDF, URL and file sources are refused.',
  },
  search_result: {
    handling: 'approximated',
    read: searchResult,
    note: 'As text with its title and source; citations are not made.',
  },
  compaction: {
    handling: 'honoured',
    read: ({ fields, field }) => text(readAt(fields, 'content', field, optionalText) ?? ''),
    note: 'An earlier part of the conversation, summed up by whoever served it: as text.',
  },
  tool_reference: {
    handling: 'approximated',
    read: ({ fields, field }) => text(`Tool found: ${readAt(fields, 'tool_name', field, readText)}`),
    note: 'The name of the tool, as text.',
  },
};

/** What a block says; blocks of kinds that nobody here knows are passed over, as their clients expect. */
function blockContent(block: Block, reading: Reading): Content {
  const kind = Object.hasOwn(blockKinds, block.type) ? blockKinds[block.type] : undefined;
  if (kind) return kind.read(block, reading);
  reading.pass(block.field);
  return [];
}

/** For places where only words can stand. */
function blockText(block: Block, reading: Reading): string {
  if (block.type === 'image') throw wrong(`${block.field}.type`, 'another one: there is no room for pictures here');
  return wordsOf(blockContent(block, reading));
}

/** Blocks that stand side by side are paragraphs of their own. */
function joinTexts(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n');
}

function blocksContent(content: unknown, field: string, reading: Reading): Content {
  return joinContent(
    readBlocks(content, field).map((block) => blockContent(block, reading)),
    '\n',
  );
}

/** What a tool gave back: nothing, a text, or blocks. */
function resultContent(content: unknown, field: string, reading: Reading): Content {
  if (typeof content === 'string') return reading.attachments.toolResult(content, field);
  return isAbsent(content) ? [] : blocksContent(content, field, reading);
}

/** A file id means a store that is not here. */
function image({ fields, field }: Block, { attachments }: Reading): Content {
  const place = `${field}.source`;
  const source = readObject(fields.source, place);
  switch (readImageSource(source.type, `${place}.type`)) {
    case 'base64': {
      const format = readAt(source, 'media_type', place, optionalText);
      const data = readAt(source, 'data', place, readText);
      return [attachments.add({ kind: 'image', data, field: `${place}.data`, format })];
    }
    case 'url':
      return [attachments.add({ kind: 'image', data: readAt(source, 'url', place, readText), field: `${place}.url` })];
    case 'file':
      throw new AppError('unsupported', {
        feature: `An image by its file id (${place})`,
        instead: 'this server keeps no files; send the picture itself',
      });
  }
}

const readImageSource = oneOf('base64', 'url', 'file');

function document({ fields, field }: Block, reading: Reading): Content {
  const source = readAt(fields, 'source', field, readObject);
  const type = readAt(source, 'type', `${field}.source`, readText);
  const title = readAt(fields, 'title', field, optionalText);
  const context = readAt(fields, 'context', field, optionalText);
  const told = [...(title ? [`Title: ${title}`] : []), ...(context ? [`Context: ${context}`] : [])];
  const inside = documentSource(type, source, `${field}.source`, reading);
  return between(['<document>', ...told], inside, '</document>');
}

function documentSource(type: string, source: JsonObject, field: string, reading: Reading): Content {
  if (type === 'text') return text(readAt(source, 'data', field, readText));
  if (type === 'content') return blocksContent(source.content, `${field}.content`, reading);
  throw new AppError('unsupported', {
    feature: `A document that is no text (${field})`,
    instead: 'send what it says with a source of the type text',
  });
}

function searchResult({ fields, field }: Block, reading: Reading): Content {
  const title = readAt(fields, 'title', field, readText);
  const source = readAt(fields, 'source', field, readText);
  readAt(fields, 'content', field, readList);
  const found = blocksContent(fields.content, `${field}.content`, reading);
  return between(['<search_result>', `Title: ${title}`, `Source: ${source}`], found, '</search_result>');
}

/** Lines, what stands below them, and the line that closes it. */
function between(opening: readonly string[], inside: Content, closing: string): Content {
  return joinContent([text(opening.join('\n')), inside, text(closing)], '\n');
}
