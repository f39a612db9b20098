import { type Chunking, maxCollectionName } from '../../../core/documents.ts';
import { readAttributes, readFilter, readMetadata } from '../../documents/filters.ts';
import * as f from '../../fields.ts';

/** Of one request. */
const maxFiles = 2000;
const maxQueries = 8;
const maxQuery = 4000;
const [leastTokens, mostTokens] = [100, 4096];

const readChunking: f.Read<Chunking> = f.described({ type: 'object' }, (value, path) => {
  const sent = f.readObject(value, path);
  if (f.readAt(sent, 'type', path, f.word('auto', 'static')) === 'auto') return { type: 'structure' };
  const numbers = f.readAt(sent, 'static', path, f.readObject);
  const maxTokens = f.readAt(
    numbers,
    'max_chunk_size_tokens',
    `${path}.static`,
    f.wholeBetween(leastTokens, mostTokens),
  );
  const overlapTokens = f.readAt(numbers, 'chunk_overlap_tokens', `${path}.static`, f.readCount);
  if (overlapTokens > maxTokens / 2) {
    throw f.wrong(`${path}.static.chunk_overlap_tokens`, 'at most half of max_chunk_size_tokens');
  }
  return { type: 'static', maxTokens, overlapTokens };
});
const chunkingNote =
  'auto cuts along the structure of the document (headings, pages, code), which replies show as "other"; static windows are as requested.';

/** In days; null for none. */
const readExpiry: f.Read<number | null | undefined> = f.described({ type: ['object', 'null'] }, (value, path) => {
  if (value === undefined || value === null) return value;
  const sent = f.readObject(value, path);
  f.readAt(sent, 'anchor', path, f.word('last_active_at'));
  return f.readAt(sent, 'days', path, f.wholeBetween(1, 365));
});

const readIds = f.optional(
  f.described({ type: 'array', items: { type: 'string' }, maxItems: maxFiles }, (value, path) => {
    const ids = f.listOf(f.readName)(value, path);
    if (ids.length > maxFiles) throw f.wrong(path, `at most ${maxFiles} files`);
    return ids;
  }),
);

const readTitle = f.optional(
  f.described({ type: 'string', maxLength: maxCollectionName }, (value, path) => {
    const name = f.readText(value, path);
    if (name.length > maxCollectionName)
      throw f.wrong(path, `a name of at most ${maxCollectionName} characters, and this one has ${name.length}`);
    return name;
  }),
);

const common = {
  name: f.honoured(readTitle, `Up to ${maxCollectionName} characters.`),
  description: f.honoured(f.optionalText, 'Not in the original for a change.'),
  expires_after: f.honoured(readExpiry, 'Days (1 to 365) after the last search or change.'),
  metadata: f.honoured(f.optional(readMetadata), 'Up to 16 pairs.'),
};

export const createFields = {
  ...common,
  file_ids: f.honoured(readIds, 'Files of /v1/files, indexed in the background.'),
  chunking_strategy: f.honoured(f.optional(readChunking), chunkingNote),
};
export const changeFields = common;

export const fileOptions = {
  attributes: f.honoured(f.optional(readAttributes), 'Up to 16 pairs, for filters.'),
  chunking_strategy: f.honoured(f.optional(readChunking), chunkingNote),
};
export const attachFields = { file_id: f.honoured(f.readName), ...fileOptions };
export const attributeFields = { attributes: f.honoured(readAttributes, 'Replaces all.') };

export const batchFields = {
  file_ids: f.honoured(readIds),
  files: f.honoured(
    f.optional(f.listOf(f.readObject)),
    'Instead of file_ids: objects with file_id, attributes and chunking_strategy of their own.',
  ),
  ...fileOptions,
};

/** The number of files is that of one request, in either form. */
export function refuseManyFiles(count: number): void {
  if (count > maxFiles) throw f.wrong('files', `at most ${maxFiles} files`);
}

const readQueries: f.Read<readonly string[]> = f.described(f.oneOrMoreTexts, (value, path) => {
  const sent = typeof value === 'string' ? [value] : f.listOf(f.readText)(value, path);
  const queries = sent.map((query) => query.trim()).filter((query) => query !== '');
  if (queries.length === 0) throw f.wrong(path, 'a text that is not empty, or several');
  if (queries.length > maxQueries) throw f.wrong(path, `at most ${maxQueries} texts`);
  if (queries.some(({ length }) => length > maxQuery)) throw f.wrong(path, `at most ${maxQuery} characters`);
  return queries;
});

const readScore = f.reader<number>(
  'a number from 0 to 1',
  (value) => typeof value === 'number' && value >= 0 && value <= 1,
  { type: 'number', minimum: 0, maximum: 1 },
);

export const searchFields = {
  query: f.honoured(readQueries, 'A text, or several that are searched together.'),
  filters: f.honoured(f.optional(readFilter), 'Comparisons of attributes; and and or nest up to 8 deep.'),
  max_num_results: f.honoured(f.orElse(f.wholeBetween(1, 50), 10)),
  ranking_options: f.group({
    ranker: f.approximated(
      f.optional(f.oneOf('auto', 'none', 'default-2024-11-15')),
      'none leaves the reranker out; the others use it where a model that only ranks is loaded (--embeddingsmodel).',
    ),
    score_threshold: f.honoured(f.optional(readScore)),
  }),
  rewrite_query: f.approximated(
    f.orElse(f.readFlag, false),
    'A query is searched by its meaning and by its words, and needs no other wording: the reply has it as it was searched.',
  ),
};

const readOrder = f.orElse(f.word('asc', 'desc'), 'desc');
const readLimit = f.orElse(
  f.described({ type: 'integer', minimum: 1, maximum: 100 }, (value, path) =>
    f.wholeBetween(1, 100)(typeof value === 'string' ? Number(value) : value, path),
  ),
  20,
);
export const pageFields = {
  limit: f.honoured(readLimit, '1 to 100.'),
  order: f.honoured(readOrder, 'By the time of creation.'),
  after: f.honoured(f.optionalName, 'The id of the last item of the page before.'),
  before: f.honoured(f.optionalName, 'The id of the first item of the page behind.'),
};
export const filePageFields = {
  ...pageFields,
  filter: f.honoured(f.optional(f.oneOf('in_progress', 'completed', 'failed', 'cancelled'))),
};
