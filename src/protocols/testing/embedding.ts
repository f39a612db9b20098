import type { EmbeddingRequest, EmbeddingService, RankRequest } from '../../core/embedding.ts';
import type { RequestContext } from '../../core/request-context.ts';
import type { Proof } from './fidelity-proof.ts';

export type AskedEmbedding =
  | { readonly request: EmbeddingRequest | RankRequest; readonly requestContext: RequestContext; readonly by: string }
  | { readonly keep: number };

/**
 * An embedding service without a model. A text becomes four numbers that tell its length and its first character; tokens are its
 * characters, and what has more than eight of them is too long.
 */
export function scriptedEmbedding(name = 'tiny-embed', own: Partial<EmbeddingService> = {}) {
  const asked: AskedEmbedding[] = [];
  const service: EmbeddingService = {
    name,
    facts: () => ({
      dimensions: 4,
      maxTokens: 8,
      pooling: 'mean',
      architecture: 'bert',
      parameters: 22_000_000,
      sizeBytes: 45,
    }),
    loaded: () => true,
    keepFor: (keep) => asked.push({ keep }),
    expiresAt: () => 1_700_000_600_000,
    embed: async (request, requestContext) => {
      asked.push({ request, requestContext, by: name });
      const { inputs, pooling = 'mean' } = request;
      const vector = (text: EmbeddingRequest['inputs'][number]) =>
        Float32Array.of(text.length, 0, typeof text === 'string' ? (text.codePointAt(0) ?? 0) : (text[0] ?? 0), 4);
      return {
        vectors: inputs.map((text) => Array.from({ length: pooling === 'none' ? text.length : 1 }, () => vector(text))),
        tokens: inputs.map(({ length }) => Math.min(length, 8)),
        truncated: inputs.flatMap(({ length }, index) => (length > 8 ? [index] : [])),
        pooling,
        loadMs: 7,
      };
    },
    rank: async (request, requestContext) => {
      asked.push({ request, requestContext, by: name });
      const { documents } = request;
      return {
        scores: documents.map(({ length }) => length / 10),
        tokens: 12,
        truncated: documents.flatMap(({ length }, index) => (length > 8 ? [index] : [])),
        loadMs: 0,
      };
    },
    ...own,
  };
  return { service, asked };
}

/** Both services that a server has, and all that they were asked. */
export function scriptedOthers() {
  const own = scriptedEmbedding();
  const text = scriptedEmbedding('mini');
  return {
    taskServices: { embedding: own.service, textEmbedding: text.service },
    get asked() {
      return [...own.asked, ...text.asked];
    },
  };
}

const request = (value: object): object => ({ request: value });

/** How the fields of a list of embeddings are proved, whichever dialect it is of. */
export const listProofs = (truncate: boolean): Readonly<Record<string, Proof>> => ({
  input: {
    send: { input: ['a', [1, 2]] },
    asks: request({ inputs: ['a', [1, 2]] }),
    refuses: [{ input: '' }, { input: [] }, { input: 5 }, { input: [{}] }, { input: [[]] }, { input: ['a', ''] }],
  },
  model: { send: { model: 'koboldcpp/mini' }, asks: { by: 'mini' }, tells: /"model":"mini"/ },
  encoding_format: {
    send: { encoding_format: 'base64' },
    tells: /"embedding":"/,
    refuses: [{ encoding_format: 'hex' }],
  },
  dimensions: {
    send: { dimensions: 2 },
    tells: /"embedding":\[1,0\]/,
    refuses: [{ dimensions: 0 }, { dimensions: 'x' }, { dimensions: 1.5 }],
  },
  truncate: { send: { truncate: !truncate }, asks: request({ truncate: !truncate }), refuses: [{ truncate: 'yes' }] },
  embd_normalize: { send: { embd_normalize: -1 }, tells: /"embedding":\[1,0,120,4\]/ },
  genkey: { send: { genkey: 'K1' }, asks: { requestContext: { genkey: 'K1' } } },
  ttl: { send: { ttl: 300 }, asks: { keep: 300_000 }, refuses: [{ ttl: -1 }, { ttl: '5m' }] },
});
