import type { Headers, Reply } from './call.ts';

/** Content security policy of pages by default: only resources of this server, never in a frame. */
const strictPolicy = {
  'default-src': "'self'",
  'base-uri': "'none'",
  'object-src': "'none'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
} as const;

/**
 * On every response. Pages have a stricter policy, which would break scripts that run as workers. Other sites get no referrer; this server gets
 * it, because over plain HTTP it shows which page a cookie comes from.
 */
export const securityHeaders: Headers = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'content-security-policy': "frame-ancestors 'none'",
};

/** The security headers of an HTML page; `policy` adds directives or replaces them. */
export function pageHeaders(policy: Readonly<Record<string, string>> = {}): Headers {
  const directives = Object.entries({ ...strictPolicy, ...policy }).map(([name, sources]) => `${name} ${sources}`);
  return { 'content-type': 'text/html', ...securityHeaders, 'content-security-policy': directives.join('; ') };
}

/** A page with a short message, for browsers. */
export function messagePage(status: number, title: string, body: string): Reply {
  const html = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>${title}</title>
${body}
</html>
`;
  return { status, headers: pageHeaders(), body: html };
}

export function notFoundPage(path: string): Reply {
  const body = `<p>There is nothing at <code>${escapeHtml(path)}</code>.
<p>The <a href="/api">API page</a> shows what this server can do.`;
  return messagePage(404, 'Not found', body);
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
