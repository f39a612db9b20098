import type { Headers } from './call.ts';

/**
 * What a browser must be told before a page may read an answer. A page that may not call gets no permission at all; the
 * browser then keeps the answer from it. Without an Origin no page asked across origins, and `*` gives nothing away: it
 * never covers requests with credentials, and proxies and programs that look for the header find the usual value.
 */
export function corsHeaders(origin: string | undefined, permitted: boolean, requested = ''): Headers {
  if (origin === undefined) return { 'access-control-allow-origin': '*', ...permission('*', requested), ...vary };
  if (!permitted) return vary;
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    ...permission(allMethods, requested),
    ...vary,
  };
}

/** Always sent: a stored answer to one origin must never be taken for the answer to another. */
const vary = { vary: 'Origin' };

// The star does not cover Authorization, and covers nothing at all when credentials are sent: hence the names.
const allMethods = '*, GET, POST, DELETE, OPTIONS, HEAD, PUT';
const usualHeaders =
  '*, Accept, Content-Type, Content-Length, Cache-Control, Accept-Encoding, X-CSRF-Token, Client-Agent, X-Fields, ' +
  'Content-Type, Authorization, X-Requested-With, X-HTTP-Method-Override, apikey, genkey';

/**
 * A browser asks before it sends headers of its own, and names them (`access-control-request-headers`). The official
 * clients have dozens, and no header does harm here that a program could not do as well: so all of them are allowed.
 */
function permission(methods: string, requested: string): Headers {
  const names = requested.split(',').map((name) => name.trim());
  const allowed = [usualHeaders, ...names.filter((name) => headerName.test(name))].join(', ');
  return {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': allowed,
    'access-control-allow-private-network': 'true',
  };
}

/** What is echoed must be a name and nothing else. */
const headerName = /^[\w!#$%&'*+.^`|~-]{1,100}$/;
