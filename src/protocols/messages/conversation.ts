import { type Content, joinContent, type Message, type ToolCallRecord, text } from '../../chat/messages.ts';
import type { Sliced } from '../../core/slices.ts';
import {
  isAbsent,
  oneOf,
  optionalFlag,
  optionalObject,
  readAt,
  readName,
  readObject,
  readText,
  wrong,
} from '../fields/readers.ts';
import { type Block, blockContent, blockText, joinTexts, type Reading, readBlocks, resultContent } from './blocks.ts';

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
