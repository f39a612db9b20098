import { refuseWithoutModel } from '../../core/text-service.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { read } from '../access.ts';
import type { ChatReader } from '../dialect.ts';
import { bodyOf, endpointRow, type ModelEndpoint } from '../endpoint.ts';
import { honoured, isTokenId, looseFlag, orElse, reader, readFields, tokenNumbers } from '../fields.ts';
import { llamacppFamily } from './errors.ts';
import { templateFields } from './fields.ts';
import { readPieces } from './prompts.ts';

const tokenizeFields = {
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

const detokenizeFields = { tokens: honoured(orElse(readTokens, [])) };

const row = endpointRow(read(), { method: 'POST', family: llamacppFamily });

export const tokenEndpoints: readonly ModelEndpoint<ChatReader>[] = [
  row('/tokenize', 'The tokens of a text, with their pieces if requested.', tokenize, {
    fields: tokenizeFields,
  }),
  row('/detokenize', 'The text of a list of tokens.', detokenize, { fields: detokenizeFields }),
  row('/apply-template', 'The prompt that a chat would become.', applyTemplate, { fields: templateFields }),
];

async function tokenize(call: Call, { text }: ChatReader): Promise<Reply> {
  const fields = readFields(tokenizeFields, await bodyOf(call, 'object'));
  const { content, add_special: addSpecial, parse_special: parseSpecial } = fields;
  // Only the first text of a list is the beginning; numbers stay as they are.
  const first = content.findIndex((piece) => typeof piece === 'string');
  const found = await Promise.all(
    content.map((piece, index) =>
      typeof piece === 'number'
        ? [piece]
        : text.tokenize(piece, { addSpecial: addSpecial && index === first, parseSpecial }),
    ),
  );
  // Not earlier: the tokenizer waits for a model that is being loaded.
  refuseWithoutModel(text.state());
  const tokens = found.flat();
  if (!fields.with_pieces) return json({ tokens });
  const pieces = await text.pieces(tokens);
  return json({ tokens: tokens.map((id, index) => ({ id, piece: pieces[index] ?? '' })) });
}

async function detokenize(call: Call, { text }: ChatReader): Promise<Reply> {
  const { tokens } = readFields(detokenizeFields, await bodyOf(call, 'object'));
  const content = await text.detokenize(tokens, { renderSpecial: true });
  refuseWithoutModel(text.state());
  return json({ content });
}

async function applyTemplate(call: Call, parts: ChatReader): Promise<Reply> {
  const { chat, applyDefaults, readChat } = parts;
  const { prompt, memory } = await chat.render(await readChat(applyDefaults(await bodyOf(call)), parts));
  return json({ prompt: memory + prompt });
}
