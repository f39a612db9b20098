import type { Headers } from './call.ts';

/**
 * What a browser must be told before a page may read an answer. A page that may not call gets no permission at all; the
 * browser then keeps the answer from it. Without an Origin no page asked across origins, and `*` gives nothing away: it
 * never covers requests with credentials, and proxies and programs that look for the header find the usual value.
 */
export function corsHeaders(origin: string | undefined, permitted: boolean): Headers {
  if (origin === undefined) return { 'access-control-allow-origin': '*', ...permission, ...vary };
  if (!permitted) return vary;
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    ...permission,
    ...vary,
  };
}

/** Always sent: a stored answer to one origin must never be taken for the answer to another. */
const vary = { vary: 'Origin' };

const permission = {
  'access-control-allow-methods': '*',
  'access-control-allow-headers': [
    // The star does not cover Authorization, and covers nothing at all when credentials are sent: hence the names.
    '*',
    'Accept',
    'Content-Type',
    'Content-Length',
    'Cache-Control',
    'Accept-Encoding',
    'X-CSRF-Token',
    'Client-Agent',
    'X-Fields',
    'Content-Type',
    'Authorization',
    'X-Requested-With',
    'X-HTTP-Method-Override',
    'apikey',
    'genkey',
  ].join(', '),
  'access-control-allow-private-network': 'true',
};
