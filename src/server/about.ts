import type { ModelEndpoint } from '../protocols/endpoint.ts';
import { fidelityEndpoint, fidelityFamily } from '../protocols/fidelity/fidelity.ts';
import { answeringProbes } from '../protocols/ollama/routes.ts';
import { openapiEndpoint, openapiReplies } from '../protocols/openapi/document.ts';
import { type NoscriptParts, noscriptEndpoints } from '../protocols/pages/noscript.ts';
import { type PagesParts, pagesEndpoints } from '../protocols/pages/routes.ts';
import { fidelityByPage, smallEndpoints } from './fidelity.ts';

type AboutParts = Pick<PagesParts, 'product' | 'endpoints'>;

/** Documentation of the API and the pages, generated from the tables of endpoints and fields. */
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
