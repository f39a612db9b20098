import { AppError } from '../../core/errors.ts';
import type { Endpoint } from '../../http/call.ts';
import { methods } from '../../http/router.ts';
import { openaiFamily } from './errors.ts';

/**
 * What nobody answers below `/v1`. The official clients read an error object and nothing else: a page, or an object of
 * another family, becomes an exception without a reason.
 */
export function elsewhereEndpoints(): Endpoint[] {
  return methods.map(
    (method): Endpoint => ({
      method,
      match: 'rest',
      path: '/v1/',
      access: 'open',
      queued: method === 'POST',
      summary: 'Everything else: 404 as an error object.',
      family: openaiFamily,
      handle: ({ path }) => {
        throw new AppError('not-found', { method, path });
      },
    }),
  );
}
