import { type AdminAccess, allowed } from '../protocols/admin/access.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';

/** Those that are for administrators only refuse all others before their handlers are called. */
export function forAdministrators<Context>(
  endpoints: readonly ModelEndpoint<Context>[],
  access: AdminAccess,
): ModelEndpoint<Context>[] {
  return endpoints.map((endpoint) => {
    if (!endpoint.adminOnly) return endpoint;
    return { ...endpoint, handle: (call, context) => allowed(endpoint.handle, access, call)(call, context) };
  });
}
