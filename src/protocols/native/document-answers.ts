import * as a from '../answers.ts';

const attributes = a.mapOf(a.either(a.text, a.number, a.flag));
const collection = a.named(
  'Collection',
  a.object({
    ...a.members(a.text, 'id', 'name', 'description'),
    ...a.members(a.count, 'created_at', 'last_active_at', 'bytes', 'passages'),
    files: a.object({
      ...a.members(a.count, 'in_progress', 'completed', 'failed', 'cancelled', 'total'),
    }),
    folders: a.list(
      a.object({
        path: a.text,
        include: a.list(a.text),
        exclude: a.list(a.text),
        max_file_bytes: a.count,
        note: a.orNull(a.text),
      }),
    ),
    embedding: a.text,
    is_outdated: a.flag,
    metadata: a.mapOf(a.text),
    expires_after_days: a.orNull(a.count),
  }),
);

const files = a.object({
  files: a.list(
    a.object({
      ...a.members(a.text, 'id', 'name', 'path?'),
      bytes: a.count,
      created_at: a.count,
      status: a.words('in_progress', 'completed', 'failed', 'cancelled'),
      progress: a.number,
      error: a.orNull(a.object({ code: a.text, message: a.text })),
      attributes,
      passages: a.count,
    }),
  ),
});

const passage = {
  ...a.members(a.text, 'passage', 'collection', 'file', 'name'),
  'page?': a.count,
  headings: a.list(a.text),
  ...a.members(a.count, 'line?', 'start', 'end'),
  text: a.text,
  attributes,
  url: a.text,
};

const done = a.json(a.object({ success: a.words(true) }));

export const documentAnswers: a.DialectAnswers = {
  errors: {},
  answers: {
    'GET /api/extra/documents': a.json(a.object({ collections: a.list(collection), can_add_folders: a.flag })),
    'POST /api/extra/documents': a.json(collection),
    'POST /api/extra/documents/search': a.json(
      a.object({
        queries: a.list(a.text),
        results: a.list(
          a.object({
            ...passage,
            score: a.number,
            found: a.object({ 'vector?': a.count, 'keywords?': a.count, 'reranked?': a.number }),
          }),
        ),
        notes: a.list(a.text),
      }),
    ),
    'GET /api/extra/documents/{id}': a.json(collection),
    'GET /api/extra/documents/{id}/files': a.json(files),
    'GET /api/extra/documents/{id}/files/{file}/text': a.media('text/plain'),
    'GET /api/extra/documents/{id}/files/{file}/content': a.media('application/octet-stream'),
    'GET /api/extra/documents/passages/{passage}': a.json(a.object({ ...passage, before: a.text, after: a.text })),
    'POST /api/extra/documents/{id}': a.json(collection),
    'POST /api/extra/documents/{id}/files': a.json(files),
    'POST /api/extra/documents/{id}/folders': a.json(collection),
    'POST /api/extra/documents/{id}/reindex': a.json(collection),
    'DELETE /api/extra/documents/{id}': done,
    'DELETE /api/extra/documents/{id}/files/{file}': done,
    'DELETE /api/extra/documents/{id}/folders': a.json(collection),
  },
};
