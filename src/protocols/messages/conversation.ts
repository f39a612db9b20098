import { type Content, joinContent, type Message, type ToolCallRecord, text } from '../../chat/messages.ts';
import type { Sliced } from '../../core/slices.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Block, blockContent, blockText, joinTexts, type Reading, readBlocks, resultContent } from './blocks.ts';
import { oneOf, optional, readBoolean, readList, readName, readObject, readString, wrong } from './readers.ts';

/** One turn with everything that was said in it; wire messages of the same side that follow each other are one turn. */
interface Turn {
  readonly role: 'user' | 'assistant';
  readonly messages: Block[][];
}

/** `system` and `messages` of the request as one conversation. */
export function* decodeConversation(body: JsonObject, reading: Reading): Sliced<readonly Message[]> {
  const system = optional(body.system, 'system', (value) => systemTexts(readBlocks(value, 'system'), reading)) ?? [];
  const turns: Turn[] = [];
  for (const [index, entry] of readList(body.messages, 'messages').entries()) {
    const field = `messages[${index}]`;
    const message = readObject(entry, field);
    const role = readRole(message.role, `${field}.role`);
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
  const callId = readString(fields.tool_use_id, `${field}.tool_use_id`);
  const failed = optional(fields.is_error, `${field}.is_error`, readBoolean) ?? false;
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
  return readString(fields.thinking, `${field}.thinking`);
}

function toolCall({ fields, field }: Block): ToolCallRecord {
  const input = optional(fields.input, `${field}.input`, readObject) ?? {};
  return {
    id: readString(fields.id, `${field}.id`),
    name: readName(fields.name, `${field}.name`),
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
