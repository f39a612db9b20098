import type { Endpoint } from '../../http/call.ts';
import { accessOf } from '../../server/access.ts';
import type { ModelEndpoint } from '../endpoint.ts';

/** The endpoint as HTTP calls it, with one context for all calls and the access that the server gives it. */
export function bind<Context>({ queued, handle, ...info }: ModelEndpoint<Context>, context: Context): Endpoint {
  const access = accessOf(info.method, info.path) ?? { access: 'guarded' };
  return { ...info, ...access, rateLimited: queued, handle: (call) => handle(call, context) };
}

export function bindAll<Context>(endpoints: readonly ModelEndpoint<Context>[], context: Context): Endpoint[] {
  return endpoints.map((endpoint) => bind(endpoint, context));
}
