import { fidelityByPage, smallEndpoints } from './fidelity.ts';
import type { Endpoint, Reply } from './http/call.ts';
import { fidelityFamily } from './protocols/fidelity/errors.ts';
import { fidelityEndpoint } from './protocols/fidelity/routes.ts';
import { openapiEndpoint, openapiReplies } from './protocols/openapi/routes.ts';

export interface About {
  readonly endpoints: readonly Endpoint[];
  /** The description of the API, as it is given beside the page for people. */
  readonly apiDocument: () => Reply;
}

/** What the server tells programs about itself, from the tables that it works by. */
export function about(
  product: { readonly name: string; readonly version: string },
  endpoints: () => readonly Endpoint[],
): About {
  const tables = Object.values(fidelityByPage).flat();
  const reply = openapiReplies({ product, endpoints, fidelities: [...tables, ...smallEndpoints] });
  return {
    endpoints: [fidelityEndpoint(tables), openapiEndpoint(reply, fidelityFamily)],
    apiDocument: () => reply('.'),
  };
}
