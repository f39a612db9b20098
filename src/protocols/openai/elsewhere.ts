import { AppError } from '../../core/errors.ts';
import type { Reply } from '../../http/call.ts';
import { notFoundPage } from '../../http/pages.ts';
import { methods } from '../../http/router.ts';
import type { PlainEndpoint } from '../endpoint.ts';
import { openaiFamily } from './errors.ts';

/**
 * What nobody answers below `/v1`. The official clients read an error object and nothing else: a page, or an object of
 * another family, becomes an exception without a reason. People who look with a browser are shown a page.
 */
export const elsewhereEndpoints: readonly PlainEndpoint[] = methods.map(
  (method): PlainEndpoint => ({
    method,
    match: 'rest',
    path: '/v1/',
    access: 'open',
    queued: method === 'POST',
    summary: 'Everything else: 404 as an error object, or as a page for browsers.',
    family: openaiFamily,
    handle: ({ path, headers }) => {
      if (method === 'GET' && headers.accept?.includes('text/html')) return pageFor(path);
      throw new AppError('not-found', { method, path });
    },
  }),
);

function pageFor(path: string): Reply {
  const page = notFoundPage(path);
  return { ...page, headers: { ...page.headers, vary: 'accept' } };
}
