import * as a from '../../answers.ts';

const counts = a.object({
  ...a.members(a.count, 'in_progress', 'completed', 'failed', 'cancelled', 'total'),
});
const attributes = a.mapOf(a.either(a.text, a.number, a.flag));
const store = a.named(
  'VectorStore',
  a.object({
    id: a.text,
    object: a.words('vector_store'),
    created_at: a.count,
    name: a.text,
    description: a.orNull(a.text),
    usage_bytes: a.count,
    file_counts: counts,
    status: a.words('in_progress', 'completed'),
    expires_after: a.orNull(a.object({ anchor: a.words('last_active_at'), days: a.count })),
    expires_at: a.orNull(a.count),
    last_active_at: a.count,
    metadata: a.mapOf(a.text),
  }),
);
const status = a.words('in_progress', 'completed', 'failed', 'cancelled');
const file = a.named(
  'VectorStoreFile',
  a.object({
    id: a.text,
    object: a.words('vector_store.file'),
    created_at: a.count,
    usage_bytes: a.count,
    vector_store_id: a.text,
    status,
    last_error: a.orNull(
      a.object({ code: a.words('server_error', 'unsupported_file', 'invalid_file'), message: a.text }),
    ),
    attributes,
    chunking_strategy: a.byType({
      other: {},
      static: { static: a.object({ max_chunk_size_tokens: a.count, chunk_overlap_tokens: a.count }) },
    }),
  }),
);
const batch = a.object({
  id: a.text,
  object: a.words('vector_store.files_batch'),
  created_at: a.count,
  vector_store_id: a.text,
  status,
  file_counts: counts,
});
const content = a.list(a.object({ type: a.words('text'), text: a.text }));
const rest = { has_more: a.words(false), next_page: a.nothing };

const path = '/v1/vector_stores';

export const vectorStoreAnswers: a.DialectAnswers['answers'] = {
  [`GET ${path}`]: a.page(store),
  [`POST ${path}`]: a.json(store),
  [`GET ${path}/{id}`]: a.json(store),
  [`POST ${path}/{id}`]: a.json(store),
  [`DELETE ${path}/{id}`]: a.deleted('vector_store.deleted'),
  [`POST ${path}/{id}/search`]: a.json(
    a.object({
      object: a.words('vector_store.search_results.page'),
      search_query: a.list(a.text),
      data: a.list(a.object({ file_id: a.text, filename: a.text, score: a.number, attributes, content })),
      ...rest,
    }),
  ),
  [`GET ${path}/{id}/files`]: a.page(file),
  [`POST ${path}/{id}/files`]: a.json(file),
  [`GET ${path}/{id}/files/{file_id}`]: a.json(file),
  [`POST ${path}/{id}/files/{file_id}`]: a.json(file),
  [`DELETE ${path}/{id}/files/{file_id}`]: a.deleted('vector_store.file.deleted'),
  [`GET ${path}/{id}/files/{file_id}/content`]: a.json(
    a.object({ object: a.words('vector_store.file_content.page'), data: content, ...rest }),
  ),
  [`POST ${path}/{id}/file_batches`]: a.json(batch),
  [`GET ${path}/{id}/file_batches/{batch_id}`]: a.json(batch),
  [`GET ${path}/{id}/file_batches/{batch_id}/files`]: a.page(file),
  [`POST ${path}/{id}/file_batches/{batch_id}/cancel`]: a.json(batch),
};
