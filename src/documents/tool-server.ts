import { type DocumentHit, type DocumentLibrary, type Passage, passageTitle, passageUrl } from '../core/documents.ts';
import { AppError } from '../core/errors.ts';
import {
  type ServedCall,
  type ServedResult,
  type ServedTool,
  ToolCallError,
  type ToolServerCatalog,
  type ToolServers,
  toolCallCodes,
} from '../core/tool-servers.ts';

interface DocumentToolOptions {
  readonly library: DocumentLibrary;
  /** In front of the path of a passage: clients elsewhere need the whole address. */
  readonly base?: string;
  /** For models of this server, which need no other forms of the same search. */
  readonly onlySearch?: boolean;
}

const [defaultLimit, maxLimit] = [6, 20];
const maxQuery = 4000;
/** Of the text of a document as a result. */
const maxCharacters = 100_000;
const annotations = { readOnlyHint: true, openWorldHint: false };

const query = { type: 'string', description: 'A question or key words.' };
const searchDocuments: ServedTool = {
  name: 'search_documents',
  title: 'Search documents',
  description:
    'Searches the documents that the user keeps on this server: files, web pages and notes. The result has passages with their document, page or heading, and address.',
  inputSchema: {
    type: 'object',
    properties: {
      query,
      collection: { type: 'string', description: 'The name of a collection; all without.' },
      limit: { type: 'integer', minimum: 1, maximum: maxLimit, default: defaultLimit },
    },
    required: ['query'],
  },
  annotations,
};
/** The two tools that research assistants look for, each with one argument. */
const search: ServedTool = {
  name: 'search',
  title: 'Search',
  description: 'Searches the documents on this server. The results have ids for fetch.',
  inputSchema: { type: 'object', properties: { query }, required: ['query'] },
  annotations,
};
const fetchTool: ServedTool = {
  name: 'fetch',
  title: 'Fetch',
  description: 'The document of a result of search, by its id.',
  inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  annotations,
};

const scheme = 'parley://documents/';

/** The collections of one owner as an MCP server. A chat without any gets no tool. */
export function documentTools({ library, base = '', onlySearch = false }: DocumentToolOptions): ToolServers {
  const tools = onlySearch ? [searchDocuments] : [searchDocuments, search, fetchTool];
  const addressOf = ({ id }: Passage): string => `${base}${passageUrl(id)}`;

  async function find(call: ServedCall, signal: AbortSignal): Promise<readonly DocumentHit[]> {
    const { query: sent, collection, limit = defaultLimit } = call.arguments ?? {};
    if (typeof sent !== 'string' || sent.trim() === '') throw new Problem('query must be a text that is not empty');
    if (sent.length > maxQuery) throw new Problem(`query must have at most ${maxQuery} characters`);
    if (!Number.isInteger(limit) || Number(limit) < 1)
      throw new Problem(`limit must be a number from 1 to ${maxLimit}`);
    const collections = await collectionsOf(call.name === searchDocuments.name ? collection : undefined);
    if (collections.length === 0) return [];
    const options = { queries: [sent.trim()], collections, limit: Math.min(Number(limit), maxLimit) };
    return (await library.search(options, signal)).hits;
  }

  async function collectionsOf(name: unknown): Promise<readonly string[]> {
    const all = await library.collections();
    if (name === undefined || name === null || name === '') return all.map(({ id }) => id);
    const own = typeof name === 'string' ? await library.collection(name) : undefined;
    if (own) return [own.id];
    throw new Problem(
      `There is no collection ${JSON.stringify(name)}. There are: ${all.map((own) => own.name).join(', ')}`,
    );
  }

  async function document(id: unknown) {
    const located = typeof id === 'string' ? await library.passage(id) : undefined;
    if (!located) throw new Problem(`There is no document ${JSON.stringify(id)}`);
    const { passage, before, after } = located;
    const { collection, file, attributes } = passage;
    const whole = await library.text(collection, file);
    const text = whole.length <= maxCharacters ? whole : `${before}${passage.text}${after}`;
    const metadata = { ...attributes, collection, file };
    return { id: passage.id, title: passageTitle(passage), text, url: addressOf(passage), metadata };
  }

  async function run(call: ServedCall, signal: AbortSignal): Promise<ServedResult> {
    switch (call.name) {
      case searchDocuments.name: {
        const hits = await find(call, signal);
        const results = hits.map(({ passage, score }) => {
          const { id, text, name, page = null, headings } = passage;
          const title = passageTitle(passage);
          return { id, title, name, page, headings, score, text, url: addressOf(passage) };
        });
        const passages = results.map(({ title, url, text }, index) => `[${index + 1}] ${title}\n${url}\n${text}`);
        return result(passages.join('\n\n') || 'No passages found.', { results });
      }
      case search.name: {
        const hits = await find(call, signal);
        const results = hits.map(({ passage }) => {
          return { id: passage.id, title: passageTitle(passage), url: addressOf(passage), text: passage.text };
        });
        return result(JSON.stringify({ results }), { results });
      }
      case fetchTool.name: {
        const fetched = await document(call.arguments?.id);
        return result(JSON.stringify(fetched), fetched);
      }
      default:
        throw new ToolCallError(toolCallCodes.unknownTool, 'Tool not found');
    }
  }

  const catalog: ToolServerCatalog = {
    servers: () => [],
    resources: async () => [],
    resourceTemplates: async () => [
      { uriTemplate: `${scheme}{passage}`, name: 'Passage of a document', mimeType: 'text/plain' },
    ],
    readResource: async (uri) => {
      const id = uri.startsWith(scheme) ? decodeURIComponent(uri.slice(scheme.length).replace(/#.*$/, '')) : undefined;
      const located = id === undefined ? undefined : await library.passage(id);
      if (!located) throw new ToolCallError(toolCallCodes.unknownResource, 'Resource not found', { uri });
      return { contents: [{ uri, mimeType: 'text/plain', text: located.passage.text }] };
    },
    prompts: async () => [],
    getPrompt: async () => {
      throw new ToolCallError(toolCallCodes.unknownTool, 'Prompt not found');
    },
  };
  return {
    catalog,
    list: async () => (onlySearch && (await library.collections()).length === 0 ? [] : tools),
    call: async (call, { signal }) => {
      try {
        return await run(call, signal);
      } catch (error) {
        // The model can say so, or ask for something else.
        if (error instanceof Problem || error instanceof AppError) {
          return { isError: true, content: [{ type: 'text', text: error.message }] };
        }
        throw error;
      }
    },
  };
}

/** What is wrong with a call, as a sentence. */
class Problem extends Error {
  constructor(sentence: string) {
    super(`${sentence}.`);
  }
}

function result(text: string, structuredContent: object): ServedResult {
  return { content: [{ type: 'text', text }], structuredContent };
}
