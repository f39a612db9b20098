import type { ChatRequest } from '../../chat/request.ts';
import type { ChatService } from '../../chat/service.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import type { TextService, TokenizeOptions } from '../../core/text-service.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';
import { looseFlag } from '../fields/loose.ts';
import { isTokenId, orElse, reader } from '../fields/readers.ts';
import { tokenNumbers } from '../fields/schemas.ts';
import { honoured, readFields } from '../fields/table.ts';
import { llamacppFamily } from './errors.ts';
import { type PromptPieces, readPieces } from './prompts.ts';

export interface TokenParts {
  readonly text: TextService;
  readonly chat: ChatService;
  readonly applyDefaults: (body: JsonObject) => JsonObject;
  /** Reads the body of a chat completion. */
  readonly readChat: (body: JsonObject) => ChatRequest | Promise<ChatRequest>;
}

export const tokenizeFields = {
  content: honoured(orElse(readPieces, [])),
  add_special: honoured(orElse(looseFlag, false)),
  parse_special: honoured(orElse(looseFlag, true)),
  with_pieces: honoured(orElse(looseFlag, false), 'a token that is a part of a character comes as its bytes'),
};

const readTokens = reader<readonly number[]>(
  'an array of token numbers',
  (value) => Array.isArray(value) && value.every(isTokenId),
  tokenNumbers,
);

export const detokenizeFields = { tokens: honoured(orElse(readTokens, [])) };

const post = { method: 'POST', match: 'ending', access: 'guarded', queued: false, family: llamacppFamily } as const;

/** None of these waits in the queue. */
export const tokenEndpoints: readonly ModelEndpoint<TokenParts>[] = [
  {
    ...post,
    path: '/tokenize',
    summary: 'The tokens of a text, with their pieces where asked for.',
    handle: tokenize,
  },
  {
    ...post,
    path: '/detokenize',
    summary: 'The text of a list of tokens.',
    handle: detokenize,
  },
  {
    ...post,
    path: '/apply-template',
    summary: 'The prompt that a chat would become.',
    handle: applyTemplate,
  },
];

async function tokenize(call: Call, { text }: TokenParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'object', signal: call.signal });
  const fields = readFields(tokenizeFields, body);
  const options = { addSpecial: fields.add_special, parseSpecial: fields.parse_special };
  const tokens = await tokensOf(fields.content, options, text);
  // Only now, because the tokenizer waits for a model that is being loaded.
  refuseWithoutModel(text.state());
  return json({ tokens: fields.with_pieces ? await withText(tokens, text) : tokens });
}

/** Only the first text of a list is one that begins, and numbers stay as they are. */
async function tokensOf(
  pieces: PromptPieces,
  { addSpecial, parseSpecial }: Required<TokenizeOptions>,
  text: TextService,
): Promise<readonly number[]> {
  const first = pieces.findIndex((piece) => typeof piece === 'string');
  const found = await Promise.all(
    pieces.map((piece, index) =>
      typeof piece === 'number'
        ? [piece]
        : text.tokenize(piece, { addSpecial: addSpecial && index === first, parseSpecial }),
    ),
  );
  return found.flat();
}

/** A piece that is only a part of a character comes as its bytes. */
async function withText(tokens: readonly number[], text: TextService): Promise<readonly object[]> {
  const pieces = await text.pieces(tokens);
  return tokens.map((id, index) => ({ id, piece: pieces[index] ?? '' }));
}

async function detokenize(call: Call, { text }: TokenParts): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'object', signal: call.signal });
  const { tokens } = readFields(detokenizeFields, body);
  const content = await text.detokenize(tokens, { renderSpecial: true });
  // Only now, because the tokenizer waits for a model that is being loaded.
  refuseWithoutModel(text.state());
  return json({ content });
}

async function applyTemplate(call: Call, { chat, applyDefaults, readChat }: TokenParts): Promise<Reply> {
  const body = applyDefaults(await jsonObject(call.body, { empty: 'refuse', signal: call.signal }));
  const { prompt, memory } = await chat.render(await readChat(body));
  return json({ prompt: memory + prompt });
}
