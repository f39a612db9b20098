import { AppError } from '../../core/errors.ts';
import type { WebSearch } from '../../core/web-search.ts';
import { type Call, json, type Reply } from '../../http/call.ts';
import { write } from '../access.ts';
import { answerList, type EmbeddingContext, listFields } from '../embedding.ts';
import { bodyOf, endpointRow, type ModelEndpoint, type PlainEndpoint, withServices } from '../endpoint.ts';
import { honoured, readFields, readText } from '../fields.ts';
import { noteHeaders } from '../spoken-reply.ts';
import { type DocumentDeps, documentEndpoints } from './documents.ts';
import { nativeDialect, readInput } from './errors.ts';
import { type GenerateContext, generateEndpoints, taskEndpoints } from './generate.ts';
import { cacheEndpoint, type InfoContext, type InfoServices, infoEndpoints } from './info.ts';
import { type MemoryContext, memoryEndpoints } from './memories.ts';
import { musicEndpoints } from './music.ts';
import { nativeSpeechEndpoint, type SpeechContext, transcribeEndpoint } from './speech.ts';
import { multiplayerEndpoints, type StoryContext, saveSlotEndpoints } from './stories.ts';
import { type StreamContext, streamEndpoints } from './streams.ts';
import { type SyncContext, syncEndpoints } from './synced-records.ts';
import { tokenEndpoints } from './tokens.ts';

export interface NativeContext extends GenerateContext, InfoContext, EmbeddingContext, SpeechContext, MemoryContext {}

/** What the handlers get beside the context of the model. */
interface HandlerServices extends InfoServices, Pick<NativeContext, 'startTimer' | 'alias' | 'readChat' | 'memories'> {}

/** What the server has, whichever model answers. */
export interface NativeServices extends HandlerServices, StoryContext, SyncContext, StreamContext, DocumentDeps {
  /** With `--websearch` only. */
  readonly search?: WebSearch | undefined;
  /** With `--singleinstance` only. */
  readonly shutdown?: () => void;
  readonly newSeed: () => number;
}

export function nativeEndpoints(services: NativeServices): ModelEndpoint<Omit<NativeContext, keyof HandlerServices>>[] {
  return [
    ...withServices<NativeContext, HandlerServices>(modelEndpoints, services),
    ...musicEndpoints({ dialect: nativeDialect, newSeed: services.newSeed }),
    ...saveSlotEndpoints(services),
    ...syncEndpoints(services),
    ...multiplayerEndpoints(services),
    ...documentEndpoints(services),
    ...streamEndpoints(services),
    webSearchEndpoint(services.search),
    webPageEndpoint(services.search),
    shutdownEndpoint(services.shutdown),
  ];
}

const row = endpointRow(write('tools'), { method: 'POST', dialect: nativeDialect });

const embeddingsFields = listFields({ truncate: true });

export const embeddingsEndpoint: ModelEndpoint<EmbeddingContext> = row(
  '/api/extra/embeddings',
  'Vectors of texts; what is too long is cut.',
  (call, context) => answerList(call, embeddingsFields, context),
  {
    ...write('embeddings'),
    fields: embeddingsFields,
    response: 'embeddings',
    queued: true,
    modelSelection: 'own-name',
  },
);

const modelEndpoints: readonly ModelEndpoint<NativeContext>[] = [
  ...generateEndpoints,
  ...taskEndpoints,
  embeddingsEndpoint,
  ...tokenEndpoints,
  ...memoryEndpoints,
  ...infoEndpoints,
  cacheEndpoint,
  nativeSpeechEndpoint,
  transcribeEndpoint,
];

/** For a new instance that needs the port. `shutdown` must leave time for this reply. */
export function shutdownEndpoint(shutdown: (() => void) | undefined): PlainEndpoint {
  const summary = 'End the server, from this machine and with --singleinstance only.';
  const handle = (call: Call): Reply => {
    const success = shutdown !== undefined && isLocal(call);
    if (success) shutdown();
    // The new instance waits for the end of this process: both models may not fit into memory.
    return json({ success, ...(success ? { pid: process.pid } : {}) });
  };
  return row('/api/extra/shutdown', summary, handle, { ...write('admin'), match: 'exact', response: 'shutdown' });
}

function isLocal({ remoteAddress }: Call): boolean {
  return remoteAddress === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(remoteAddress);
}

const searchFields = { q: honoured(readText) };

/** Without `--websearch` there are no results. */
export function webSearchEndpoint(search: WebSearch | undefined): PlainEndpoint {
  return row(
    '/api/extra/websearch',
    'Search the web through this server (--websearch).',
    async (call) => {
      if (!search) return json([]);
      const input = await readInput(call, searchFields);
      if (!input) return json([], 400);
      const { pages, problem } = await search.find(input.q, call.signal);
      const results = pages.map(({ title, url, description, content }) => ({ title, url, desc: description, content }));
      // Clients expect a list, so the problem is in a header.
      return json(results, 200, noteHeaders(problem === undefined ? [] : [problem]));
    },
    { fields: searchFields, response: 'webSearch' },
  );
}

const pageFields = { url: honoured(readText, 'An http or https address on the public internet.') };

/** A page for clients that attach it to a chat: the content policy and CORS keep browsers from fetching it. */
export function webPageEndpoint(search: WebSearch | undefined): PlainEndpoint {
  const summary = 'Fetch a page through this server (--websearch): its type and its bytes in base64.';
  return row(
    '/api/extra/webpage',
    summary,
    async (call) => {
      if (!search)
        throw new AppError('unsupported', { feature: 'Fetching pages', instead: 'start it with --websearch' });
      const { url } = readFields(pageFields, await bodyOf(call));
      const answer = await search.page(url, call.signal);
      if ('problem' in answer) return json({ success: false, error: answer.problem });
      const data = Buffer.from(answer.bytes).toString('base64');
      return json({ success: true, url, content_type: answer.contentType, data });
    },
    { fields: pageFields, response: 'webPage' },
  );
}
