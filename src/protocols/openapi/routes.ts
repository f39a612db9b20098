import { type Family, json, type Reply } from '../../http/call.ts';
import { endpointRow, type PlainEndpoint } from '../endpoint.ts';

/** Replies with the document; `server` is the address of the server relative to that of the document, for proxies. */
type OpenapiReply = (server: string) => Promise<Reply>;

/** The document is built for the first request. */
export function openapiReplies(build: () => Promise<object>): OpenapiReply {
  let document: Promise<object> | undefined;
  return async (server) => {
    document ??= build();
    return json({ ...(await document), servers: [{ url: server }] });
  };
}

export function openapiEndpoint(reply: OpenapiReply, family: Family): PlainEndpoint {
  const get = endpointRow({ method: 'GET', match: 'ending', queued: false, family });
  return get('/api/openapi.json', 'The description of this server as OpenAPI 3.1.', () => reply('..'));
}
