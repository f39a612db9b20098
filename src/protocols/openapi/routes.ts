import { type Call, type Dialect, json, type Reply } from '../../http/call.ts';
import { information } from '../access.ts';
import { endpointRow, type PlainEndpoint, wantsEmulations } from '../endpoint.ts';

/** Replies with the document; `server` is the address of the server relative to that of the document, for proxies. */
type OpenapiReply = (server: string, call: Pick<Call, 'query'>) => Promise<Reply>;

/** Each document is built for its first request. */
export function openapiReplies(build: (emulations: boolean) => Promise<object>): OpenapiReply {
  const documents = new Map<boolean, Promise<object>>();
  return async (server, call) => {
    const emulations = wantsEmulations(call);
    const document = documents.get(emulations) ?? build(emulations);
    documents.set(emulations, document);
    return json({ ...(await document), servers: [{ url: server }] });
  };
}

export function openapiEndpoint(reply: OpenapiReply, dialect: Dialect): PlainEndpoint {
  const get = endpointRow(information, { method: 'GET', dialect });
  const summary =
    'The description of this server as OpenAPI 3.1. With ?all=1 also the Ollama, ComfyUI, XTTS and VITS endpoints.';
  return get('/api/openapi.json', summary, (call) => reply('..', call), { response: 'openapi' });
}
