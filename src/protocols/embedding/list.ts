import type { EndpointFidelity } from '../../core/fidelity.ts';
import type { Call, Reply } from '../../http/call.ts';
import { readGenkey } from '../controls/table.ts';
import { ignoredIn } from '../dialect.ts';
import { bodyOf, jsonText } from '../endpoint.ts';
import * as f from '../fields.ts';
import { ticketFor } from '../ticket.ts';
import { listText, oneEach, shaped, total, truncatedHeader, type VectorFormat, vectorText } from './encode.ts';
import { readInputs } from './input.ts';
import { answering, type EmbeddingParts } from './service.ts';

/** Fields of the OpenAI embeddings API. `truncate`: whether inputs that are too long are cut by default. */
export function listFields({ truncate }: { readonly truncate: boolean }) {
  return {
    input: f.honoured(
      readInputs,
      'A text or up to 2048, also as token numbers of this model (not those of other vocabularies).',
    ),
    model: f.honoured(
      f.optionalText,
      'The name of the text model means that model; every other name means the embeddings model, which the reply names. With --routermode only text-embedding-ada-002, text-embedding-3-* and the names of --modelalias are; others are refused.',
    ),
    encoding_format: f.honoured(f.orElse(f.oneOf('float', 'base64'), 'float' as VectorFormat)),
    dimensions: f.honoured(
      f.optional(f.readPositive),
      'The first so many, made to length 1 again; more than the model has are refused.',
    ),
    truncate: f.honoured(
      f.orElse(f.readFlag, truncate),
      `What is too long ${truncate ? 'is cut, and named in x-parley-truncated; with false it is' : 'is'} refused${truncate ? '' : '; with true it is cut, and named in x-parley-truncated'}.`,
    ),
    embd_normalize: f.honoured(
      f.orElse(f.readWhole, 2),
      'As in the llama.cpp server: -1 none, 0 largest entry, 1 taxicab, 2 Euclidean, more a p-norm.',
    ),
    genkey: f.honoured(readGenkey, 'The key by which the native API can stop it.'),
    user: f.ignored(),
  };
}

export async function answerList(
  call: Call,
  table: ReturnType<typeof listFields>,
  fidelity: EndpointFidelity,
  parts: EmbeddingParts,
): Promise<Reply> {
  const body = await bodyOf(call);
  const fields = f.readFields(table, body);
  const { input: inputs, truncate, dimensions, embd_normalize: norm, encoding_format: format } = fields;
  const { service, model } = answering(parts, fields.model);
  const embedded = await service.embed({ inputs, truncate }, ticketFor(call, fields.genkey));
  const vectors = shaped(oneEach(embedded), { dimensions, norm });
  const data = await listText(
    vectors,
    (vector, index) => `{"object":"embedding","index":${index},"embedding":${vectorText(vector, format)}}`,
    call.signal,
  );
  const tokens = total(embedded.tokens);
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  const text = `{"object":"list","model":${JSON.stringify(model)},"data":${data},"usage":${JSON.stringify(usage)}}`;
  return jsonText(text, { ...ignoredIn(body, fidelity), ...truncatedHeader(embedded.truncated, 'input') });
}
