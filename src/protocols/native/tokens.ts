import { tryParseJson } from '../../core/json.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read } from '../access.ts';
import type { ChatReader } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import * as f from '../fields.ts';
import { nativeDialect, readInput } from './errors.ts';

const maxIds = 65_535;

const countFields = {
  prompt: f.honoured(f.orElse(f.readText, '')),
  special: f.honoured(f.orElse(f.looseFlag, true)),
  messages: f.honoured(
    f.described(f.messagesSchema, (value) => (Array.isArray(value) ? (value as readonly unknown[]) : undefined)),
    'A chat as it would be put to the model, where there is no prompt.',
  ),
};

const joinFields = {
  ids: f.honoured(f.described(f.tokenNumbers, tokenIds), `Up to ${maxIds}.`),
  special: f.honoured(f.orElse(f.looseFlag, true)),
};

const grammarFields = {
  schema: f.withSchema(f.objectSchema, f.aside('honoured', 'Or the schema is the body itself.')),
};

const row = endpointRow(read(), { method: 'POST', dialect: nativeDialect });

export const tokenEndpoints: readonly ModelEndpoint<ChatReader>[] = [
  row('/api/extra/tokencount', 'The tokens of a text, and how many they are.', countTokens, {
    fields: countFields,
    response: 'countTokens',
    recorded: false,
  }),
  row('/api/extra/tokenize', 'Another name for /api/extra/tokencount.', countTokens, {
    fields: countFields,
    response: 'countTokens',
    aliasOf: '/api/extra/tokencount',
  }),
  row('/api/extra/detokenize', 'The text of a list of tokens.', joinTokens, {
    fields: joinFields,
    response: 'detokenize',
  }),
  row('/api/extra/json_to_grammar', 'A GBNF grammar that only lets through what fits a JSON schema.', makeGrammar, {
    fields: grammarFields,
    response: 'grammar',
  }),
];

async function countTokens(call: Call, context: ChatReader): Promise<Reply> {
  const input = await readInput(call, countFields);
  if (!input) return json({ value: -1 }, 400);
  const { special: addSpecial, messages } = input;
  const prompt = input.prompt === '' && messages ? await promptOf(messages, context) : input.prompt;
  const ids = await context.text.tokenize(prompt, { addSpecial });
  return json({ value: ids.length, ids, prompt });
}

async function promptOf(messages: readonly unknown[], context: ChatReader): Promise<string> {
  const { memory, prompt } = await context.chat.render(await context.readChat({ messages }, context));
  return memory + prompt;
}

async function joinTokens(call: Call, { text }: ChatReader): Promise<Reply> {
  const input = await readInput(call, joinFields);
  if (!input?.ids) return json({ result: '', success: false }, 400);
  const result = await text.detokenize(input.ids, { renderSpecial: input.special });
  return json({ result, success: true });
}

async function makeGrammar(call: Call, { controlLimits }: ChatReader): Promise<Reply> {
  const body = await bodyOf(call).catch(() => undefined);
  if (!body && tryParseJson(call.body.toString('utf8')) === undefined) return json({ result: '', success: false }, 400);
  const schema = body && Object.hasOwn(body, 'schema') ? body.schema : body;
  try {
    // Valid JSON that cannot be read here is not an object, or is nested too deeply.
    if (!body) throw new Error('The schema must be an object of at most 128 levels.');
    return json({ result: controlLimits().schemaToGrammar(schema), success: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return json({ result: '', success: false, error: reason });
  }
}

function tokenIds(value: unknown): readonly number[] | undefined {
  if (f.isAbsent(value)) return [];
  const fits = Array.isArray(value) && value.length <= maxIds && value.every(f.isTokenId);
  return fits ? value : undefined;
}
