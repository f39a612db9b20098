import type { EndpointFidelity } from '../../core/fidelity.ts';
import { tryParseJson } from '../../core/json.ts';
import type { TextService } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read } from '../access.ts';
import { bodyOf, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import * as f from '../fields.ts';
import { nativeFamily, readInput } from './errors.ts';

export interface TokenParts {
  readonly text: TextService;
  readonly schemaToGrammar: (schema: unknown) => string;
  readonly renderChat?: (messages: readonly unknown[]) => string | Promise<string>;
}

const dialect = 'Native text API';
const mostIds = 65_535;

const countFields = {
  prompt: f.honoured(f.orElse(f.readText, '')),
  special: f.honoured(f.orElse(f.looseFlag, true)),
  messages: f.honoured(
    f.described(f.messagesSchema, (value) => (Array.isArray(value) ? (value as readonly unknown[]) : undefined)),
    'A chat as it would be put to the model, where there is no prompt.',
  ),
};

const joinFields = {
  ids: f.honoured(f.described(f.tokenNumbers, tokenIds), `Up to ${mostIds}.`),
  special: f.honoured(f.orElse(f.looseFlag, true)),
};

export const tokenFidelity: readonly EndpointFidelity[] = [
  f.fidelityOf(dialect, 'POST /api/extra/tokencount', countFields),
  f.fidelityOf(dialect, 'POST /api/extra/detokenize', joinFields),
  f.fidelityOf(dialect, 'POST /api/extra/json_to_grammar', {
    schema: f.withSchema(f.objectSchema, f.aside('honoured', 'Or the schema is the body itself.')),
  }),
];

const row = endpointRow(read(), { method: 'POST', match: 'ending', queued: false, family: nativeFamily });

export const tokenEndpoints: readonly ModelEndpoint<TokenParts>[] = [
  row('/api/extra/tokencount', 'The tokens of a text, and how many they are.', countTokens, { recorded: false }),
  row('/api/extra/tokenize', 'Another name for /api/extra/tokencount.', countTokens, {
    aliasOf: '/api/extra/tokencount',
  }),
  row('/api/extra/detokenize', 'The text of a list of tokens.', joinTokens),
  row('/api/extra/json_to_grammar', 'A GBNF grammar that only lets through what fits a JSON schema.', makeGrammar),
];

async function countTokens(call: Call, { text, renderChat }: TokenParts): Promise<Reply> {
  const input = await readInput(call, countFields);
  const refused = json({ value: -1 }, 400);
  if (!input) return refused;
  const { special: addSpecial, messages } = input;
  const chat = input.prompt === '' && messages !== undefined;
  if (chat && !renderChat) return refused;
  const prompt = chat && renderChat ? await renderChat(messages) : input.prompt;
  const ids = await text.tokenize(prompt, { addSpecial });
  return json({ value: ids.length, ids, prompt });
}

async function joinTokens(call: Call, { text }: TokenParts): Promise<Reply> {
  const input = await readInput(call, joinFields);
  if (!input?.ids) return json({ result: '', success: false }, 400);
  const result = await text.detokenize(input.ids, { renderSpecial: input.special });
  return json({ result, success: true });
}

async function makeGrammar(call: Call, { schemaToGrammar }: TokenParts): Promise<Reply> {
  const body = await bodyOf(call).catch(() => undefined);
  if (!body && tryParseJson(call.body.toString('utf8')) === undefined) return json({ result: '', success: false }, 400);
  const schema = body && Object.hasOwn(body, 'schema') ? body.schema : body;
  try {
    // What is JSON and yet cannot be read here is no object, or nested too deeply to be followed.
    if (!body) throw new Error('The schema must be an object of at most 128 levels.');
    return json({ result: schemaToGrammar(schema), success: true });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    return json({ result: '', success: false, error: reason });
  }
}

function tokenIds(value: unknown): readonly number[] | undefined {
  if (f.isAbsent(value)) return [];
  const fits = Array.isArray(value) && value.length <= mostIds && value.every(f.isTokenId);
  return fits ? value : undefined;
}
