import * as s from '../../response-schemas.ts';

const counts = s.object({
  ...s.properties(s.count, 'in_progress', 'completed', 'failed', 'cancelled', 'total'),
});
const store = s.named(
  'VectorStore',
  s.object({
    id: s.string,
    object: s.literal('vector_store'),
    created_at: s.count,
    name: s.string,
    description: s.nullable(s.string),
    usage_bytes: s.count,
    file_counts: counts,
    status: s.literal('in_progress', 'completed'),
    expires_after: s.nullable(s.object({ anchor: s.literal('last_active_at'), days: s.count })),
    expires_at: s.nullable(s.count),
    last_active_at: s.count,
    metadata: s.record(s.string),
  }),
);
const status = s.literal('in_progress', 'completed', 'failed', 'cancelled');
const file = s.named(
  'VectorStoreFile',
  s.object({
    id: s.string,
    object: s.literal('vector_store.file'),
    created_at: s.count,
    usage_bytes: s.count,
    vector_store_id: s.string,
    status,
    last_error: s.nullable(
      s.object({ code: s.literal('server_error', 'unsupported_file', 'invalid_file'), message: s.string }),
    ),
    attributes: s.fileAttributes,
    chunking_strategy: s.byType({
      other: {},
      static: { static: s.object({ max_chunk_size_tokens: s.count, chunk_overlap_tokens: s.count }) },
    }),
  }),
);
const batch = s.object({
  id: s.string,
  object: s.literal('vector_store.files_batch'),
  created_at: s.count,
  vector_store_id: s.string,
  status,
  file_counts: counts,
});
const content = s.array(s.object({ type: s.literal('text'), text: s.string }));
const rest = { has_more: s.literal(false), next_page: s.nil };

export const vectorStoreResponses = {
  vectorStore: s.json(store),
  vectorStores: s.page(store),
  deletedVectorStore: s.deleted('vector_store.deleted'),
  vectorStoreSearch: s.jsonObject({
    object: s.literal('vector_store.search_results.page'),
    search_query: s.array(s.string),
    data: s.array(
      s.object({ file_id: s.string, filename: s.string, score: s.number, attributes: s.fileAttributes, content }),
    ),
    ...rest,
  }),
  vectorStoreFile: s.json(file),
  vectorStoreFiles: s.page(file),
  deletedVectorStoreFile: s.deleted('vector_store.file.deleted'),
  vectorStoreFileContent: s.jsonObject({ object: s.literal('vector_store.file_content.page'), data: content, ...rest }),
  vectorStoreBatch: s.json(batch),
};
