import { json, type Reply } from '../../http/call.ts';
import type { EndpointShape, PlainEndpoint } from '../endpoint.ts';
import { type DocumentParts, openapiDocument } from './document.ts';

export interface OpenapiParts extends Omit<DocumentParts, 'endpoints'> {
  /** Every endpoint of the server; asked when somebody wants the document for the first time. */
  readonly endpoints: () => readonly EndpointShape[];
}

/** Tells the address of the server relative to that of the document, so that it holds behind a proxy too. */
export type OpenapiReply = (server: string) => Reply;

export function openapiReplies({ product, endpoints, fidelities }: OpenapiParts): OpenapiReply {
  let document: object | undefined;
  return (server) => {
    document ??= openapiDocument({ product, endpoints: endpoints(), fidelities });
    return json({ ...document, servers: [{ url: server }] });
  };
}

export function openapiEndpoint(reply: OpenapiReply, family: EndpointShape['family']): PlainEndpoint {
  return {
    method: 'GET',
    match: 'ending',
    path: '/api/openapi.json',
    access: 'open',
    queued: false,
    summary: 'The description of this server as OpenAPI 3.1.',
    family,
    handle: () => reply('..'),
  };
}
