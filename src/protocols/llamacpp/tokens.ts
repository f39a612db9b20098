import type { ChatRequest } from '../../chat/request.ts';
import type { ChatService } from '../../chat/service.ts';
import { AppError } from '../../core/errors.ts';
import { refuseWithoutModel } from '../../core/model-error.ts';
import type { TokenizeOptions } from '../../core/text-engine.ts';
import type { TextService } from '../../core/text-service.ts';
import { type JsonObject, jsonObject } from '../../http/body.ts';
import { type Call, type Endpoint, json, type Reply } from '../../http/call.ts';
import { isAbsent, readFlag } from '../controls/fields.ts';
import { llamacppFamily } from './errors.ts';
import { isTokenId } from './fields.ts';
import { type PromptPieces, readPieces } from './prompts.ts';

export interface TokenParts {
  readonly text: TextService;
  readonly chat: ChatService;
  readonly applyDefaults: (body: JsonObject) => JsonObject;
  /** Reads the body of a chat completion. */
  readonly readChat: (body: JsonObject) => ChatRequest | Promise<ChatRequest>;
}

/** None of these waits in the queue. */
export function tokenEndpoints(parts: TokenParts): Endpoint[] {
  const post = { method: 'POST', match: 'ending', access: 'guarded', queued: false, family: llamacppFamily } as const;
  return [
    {
      ...post,
      path: '/tokenize',
      summary: 'The tokens of a text, with their pieces where asked for.',
      handle: (call) => tokenize(call, parts.text),
    },
    {
      ...post,
      path: '/detokenize',
      summary: 'The text of a list of tokens.',
      handle: (call) => detokenize(call, parts.text),
    },
    {
      ...post,
      path: '/apply-template',
      summary: 'The prompt that a chat would become.',
      handle: (call) => applyTemplate(call, parts),
    },
  ];
}

async function tokenize(call: Call, text: TextService): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'object', signal: call.signal });
  const pieces = isAbsent(body.content) ? [] : readPieces(body.content, 'content');
  const addSpecial = readFlag(body, 'add_special', false);
  const withPieces = readFlag(body, 'with_pieces', false);
  const parseSpecial = readFlag(body, 'parse_special', true);
  const tokens = await tokensOf(pieces, { addSpecial, parseSpecial }, text);
  // Only now, because the tokenizer waits for a model that is being loaded.
  refuseWithoutModel(text.state());
  return json({ tokens: withPieces ? await withText(tokens, text) : tokens });
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

async function detokenize(call: Call, text: TextService): Promise<Reply> {
  const body = await jsonObject(call.body, { empty: 'object', signal: call.signal });
  const tokens = isAbsent(body.tokens) ? [] : body.tokens;
  if (!Array.isArray(tokens) || !tokens.every(isTokenId)) {
    throw new AppError('invalid-field', { field: 'tokens', expected: 'an array of token numbers' });
  }
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
