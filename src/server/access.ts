import { AppError } from '../core/errors.ts';
import { type AdminAccess, mayAdminister } from '../protocols/admin/access.ts';
import type { ModelEndpoint } from '../protocols/endpoint.ts';

/** Those that are for administrators only refuse all others before their handlers are called. */
export function forAdministrators<Context>(
  endpoints: readonly ModelEndpoint<Context>[],
  access: AdminAccess,
): ModelEndpoint<Context>[] {
  return endpoints.map((endpoint) => {
    if (!endpoint.adminOnly) return endpoint;
    const handle: ModelEndpoint<Context>['handle'] = (call, context) => {
      if (!mayAdminister(access, call)) throw new AppError('admin-only', {});
      return endpoint.handle(call, context);
    };
    return { ...endpoint, handle };
  });
}
