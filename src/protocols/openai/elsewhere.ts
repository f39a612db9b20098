import { AppError } from '../../core/errors.ts';
import type { Call, Endpoint, Reply } from '../../http/call.ts';
import { methods, type Router, router } from '../../http/router.ts';
import { openaiFamily } from './errors.ts';

export interface ElsewhereParts {
  /** All endpoints of the server: what a path is called here is decided by everything that stands beside it. */
  readonly endpoints: () => readonly Endpoint[];
}

const below = '/v1/';

/**
 * What nobody else answers below `/v1`. The official clients read an error object and nothing else: a page, or an object
 * of another family, becomes an exception without a reason. A path that exists for other methods is answered by its own
 * family.
 */
export function elsewhereEndpoints({ endpoints }: ElsewhereParts): Endpoint[] {
  let known: Router<Endpoint> | undefined;
  const find = (): Router<Endpoint> => {
    known ??= router(endpoints().filter(({ match, path }) => match !== 'prefix' || path !== below));
    return known;
  };
  return methods.map(
    (method): Endpoint => ({
      method,
      match: 'prefix',
      path: below,
      access: 'open',
      queued: method === 'POST',
      summary: 'Everything else: 404, or 405 for a wrong method, as an error object.',
      family: openaiFamily,
      handle: (call) => refuse(call, find()),
    }),
  );
}

function refuse({ method, path }: Call, known: Router<Endpoint>): Reply {
  const allowed = known.methods(path);
  const [other] = allowed;
  const endpoint = other && known.find(other, path);
  if (!endpoint) return openaiFamily.errorReply(new AppError('not-found', { method, path }));
  const allow = allowed.join(', ');
  const reply = endpoint.family.errorReply(new AppError('method-not-allowed', { method, allowed: allow }));
  return { ...reply, headers: { ...reply.headers, allow } };
}
