import type { ModelEndpoint } from '../protocols/endpoint.ts';
import { fidelityFamily } from '../protocols/fidelity/errors.ts';
import { fidelityEndpoint } from '../protocols/fidelity/routes.ts';
import { answeringProbes } from '../protocols/ollama/routes.ts';
import { openapiEndpoint, openapiReplies } from '../protocols/openapi/routes.ts';
import { type NoscriptParts, noscriptEndpoints } from '../protocols/pages/noscript.ts';
import { type PagesParts, pagesEndpoints } from '../protocols/pages/routes.ts';
import { fidelityByPage, smallEndpoints } from './fidelity.ts';

type AboutParts = Pick<PagesParts, 'product' | 'endpoints'>;

/** What the server tells about itself, from the tables that it works by: to programs, and as pages to people. */
export function aboutEndpoints({ product, endpoints }: AboutParts): readonly ModelEndpoint<NoscriptParts>[] {
  const tables = Object.values(fidelityByPage).flat();
  const apiDocument = openapiReplies({ product, endpoints, fidelities: [...tables, ...smallEndpoints] });
  const pages = pagesEndpoints({ product, endpoints, apiDocument: () => apiDocument('.') });
  return [
    fidelityEndpoint(tables),
    openapiEndpoint(apiDocument, fidelityFamily),
    ...noscriptEndpoints,
    ...pages.map((page) => (page.path === '/' ? answeringProbes(page) : page)),
  ];
}
