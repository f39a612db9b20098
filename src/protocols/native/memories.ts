import { AppError } from '../../core/errors.ts';
import { fold } from '../../core/fold.ts';
import { tryParseJson } from '../../core/json.ts';
import { type Embed, type Memory, type MemoryLibrary, maxMemoryCharacters } from '../../core/memories.ts';
import type { LibrariesOf } from '../../core/owner.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read, write } from '../access.ts';
import type { ChatReader } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint, rowBelow } from '../endpoint.ts';
import * as f from '../fields.ts';
import { requestContextOf } from '../request-context.ts';
import { nativeDialect } from './errors.ts';

export interface MemoryContext extends ChatReader {
  readonly memories?: LibrariesOf<MemoryLibrary> | undefined;
}

const maxName = 200;
const readName: f.Read<string> = f.described({ type: 'string', maxLength: maxName }, (value, path) => {
  const name = f.readName(value, path).trim();
  if (name === '' || name.length > maxName) throw f.wrong(path, `a name of 1 to ${maxName} characters`);
  return name;
});
const readCharacter: f.Read<string | null | undefined> = f.described({ type: ['string', 'null'] }, (value, path) =>
  value === null ? null : f.optional(readName)(value, path),
);
const characterNote = 'The character that knows it; left out for what every chat may know.';

const listFields = { character: f.honoured(f.optional(readName), 'Only its memories and those of every chat.') };
const addFields = {
  text: f.honoured(
    f.readText,
    `Up to ${maxMemoryCharacters} characters. One that is there already is not added again.`,
  ),
  character: f.honoured(f.optional(readName), characterNote),
  pinned: f.honoured(f.orElse(f.readFlag, false), 'Part of every prompt, whatever it is about.'),
};
const changeFields = {
  text: f.honoured(f.optionalText),
  character: f.honoured(readCharacter, 'null: no character any more.'),
  pinned: f.honoured(f.optionalFlag),
};
const searchFields = {
  text: f.honoured(f.readText, 'The message that they are for.'),
  character: f.honoured(f.optional(readName), characterNote),
  limit: f.honoured(f.orElse(f.wholeBetween(1, 50), 6), 'Beside the pinned ones.'),
};
const suggestFields = {
  messages: f.honoured(f.listOf(f.readObject), 'A chat, in the form of the chat completions.'),
  character: f.honoured(f.optional(readName), characterNote),
};

const path = '/api/extra/memories';
const row = endpointRow(write('chat'), { method: 'POST', recorded: false, dialect: nativeDialect });

/** What a person wants remembered from chat to chat: shown, changed and deleted here, by the pages above all. */
export const memoryEndpoints: readonly ModelEndpoint<MemoryContext>[] = [
  row(path, 'What is remembered, the pinned memories first.', list, {
    ...read('chat'),
    method: 'GET',
    fields: listFields,
    response: 'memories',
  }),
  row(path, 'Remember something.', add, { fields: addFields, response: 'memory' }),
  row(`${path}/search`, 'The memories that fit a message, as a prompt gets them.', search, {
    fields: searchFields,
    response: 'memories',
    queued: true,
  }),
  row(
    `${path}/suggest`,
    'Facts of a chat that may be worth remembering, by the loaded model. Nothing is kept.',
    suggest,
    { fields: suggestFields, response: 'suggestions', queued: true },
  ),
  rowBelow<MemoryContext>(row, path, 'Change a memory.', {
    '{id}': { handle: change, fields: changeFields, response: 'memory' },
  }),
  rowBelow<MemoryContext>(
    row,
    path,
    'Forget a memory.',
    { '{id}': { handle: forget, response: 'deletedMemory' } },
    { method: 'DELETE' },
  ),
];

function libraryOf(call: Call, { memories }: MemoryContext): MemoryLibrary {
  if (!memories) throw new AppError('not-found', { method: call.method, path: call.path });
  return memories.of(call);
}

async function list(call: Call, context: MemoryContext): Promise<Reply> {
  const { character } = f.readFields(listFields, Object.fromEntries(call.query));
  return json({ memories: (await libraryOf(call, context).list(character)).map(memoryBody) });
}

async function add(call: Call, context: MemoryContext): Promise<Reply> {
  return json(memoryBody(await libraryOf(call, context).add(f.readFields(addFields, await bodyOf(call)))));
}

async function change(call: Call, context: MemoryContext, id: string): Promise<Reply> {
  const changed = await libraryOf(call, context).change(id, f.readFields(changeFields, await bodyOf(call)));
  if (!changed) throw new AppError('not-stored', { what: 'memory', id });
  return json(memoryBody(changed));
}

async function forget(call: Call, context: MemoryContext, id: string): Promise<Reply> {
  if (!(await libraryOf(call, context).delete(id))) throw new AppError('not-stored', { what: 'memory', id });
  return json({ deleted: true });
}

async function search(call: Call, context: MemoryContext): Promise<Reply> {
  const query = f.readFields(searchFields, await bodyOf(call));
  const library = libraryOf(call, context);
  const embedding = context.taskServices?.embedding;
  const embed: Embed | undefined = embedding && {
    model: embedding.name,
    vectors: async (inputs) => {
      const { vectors } = await embedding.embed({ inputs, truncate: true }, requestContextOf(call, ''));
      return vectors.map(([vector = new Float32Array()]) => vector);
    },
  };
  return json({ memories: (await library.find(query, embed)).map(memoryBody) });
}

/** Of the end of a chat: what a small model can read at once. */
const maxTranscript = 12_000;
const maxSuggestions = 5;

const question =
  'Below is the end of a chat. Which lasting facts about the user does it have that would help in later chats: name, people and ' +
  'animals around them, work, places, tastes, plans? Only what the user said, nothing that is true for this chat alone. Write each ' +
  `as one short sentence that can be understood without the chat, ${maxSuggestions} at most, and none if there are none.`;

const suggestionSchema = {
  type: 'object',
  properties: {
    facts: { type: 'array', maxItems: maxSuggestions, items: { type: 'string', maxLength: 200 } },
  },
  required: ['facts'],
  additionalProperties: false,
};

async function suggest(call: Call, context: MemoryContext): Promise<Reply> {
  const { messages, character } = f.readFields(suggestFields, await bodyOf(call));
  const library = libraryOf(call, context);
  const transcript = messages.flatMap(({ role, content }) => {
    const words = textOf(content);
    return words === '' || (role !== 'user' && role !== 'assistant') ? [] : `${String(role)}: ${words}`;
  });
  if (transcript.length === 0) return json({ suggestions: [] });
  const prompt = `${question}\n\n${transcript.join('\n\n').slice(-maxTranscript)}`;
  const request = await context.readChat(
    {
      messages: [{ role: 'user', content: prompt }],
      response_format: { type: 'json_schema', json_schema: { name: 'facts', schema: suggestionSchema } },
      tool_choice: 'none',
      reasoning_effort: 'none',
      temperature: 0,
      max_tokens: 400,
    },
    context,
  );
  const { text } = await fold(context.chat.reply(request, requestContextOf(call, '')));
  const known = new Set((await library.list(character)).map((memory) => memory.text.toLowerCase()));
  const facts = (tryParseJson(text) as { readonly facts?: readonly unknown[] } | undefined)?.facts ?? [];
  const suggestions = facts.flatMap((fact) => (typeof fact === 'string' && fact.trim() !== '' ? fact.trim() : []));
  return json({ suggestions: [...new Set(suggestions)].filter((fact) => !known.has(fact.toLowerCase())) });
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content.trim();
  if (!Array.isArray(content)) return '';
  return content
    .flatMap((part) => (f.isObject(part) && typeof part.text === 'string' ? part.text : []))
    .join('\n')
    .trim();
}

function memoryBody({ id, text, character, pinned, createdAt, changedAt }: Memory) {
  return { id, text, character: character ?? null, pinned, created_at: createdAt, changed_at: changedAt };
}
