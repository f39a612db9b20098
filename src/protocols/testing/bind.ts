import type { Endpoint } from '../../http/call.ts';
import type { ModelEndpoint } from '../endpoint.ts';

/** The endpoint as HTTP calls it, with one context for all calls. */
export function bind<Context>({ queued, handle, ...info }: ModelEndpoint<Context>, context: Context): Endpoint {
  return { ...info, rateLimited: queued, handle: (call) => handle(call, context) };
}

export function bindAll<Context>(endpoints: readonly ModelEndpoint<Context>[], context: Context): Endpoint[] {
  return endpoints.map((endpoint) => bind(endpoint, context));
}
