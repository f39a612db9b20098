import type { Headers, Reply } from './call.ts';

/** Content security policy of pages by default: only resources of this server, never in a frame. */
const strictPolicy = {
  'default-src': "'self'",
  'base-uri': "'none'",
  'object-src': "'none'",
  'form-action': "'self'",
  'frame-ancestors': "'none'",
} as const;

/** The security headers of an HTML page; `policy` adds directives or replaces them. */
export function pageHeaders(policy: Readonly<Record<string, string>> = {}): Headers {
  return {
    'content-type': 'text/html',
    'content-security-policy': Object.entries({ ...strictPolicy, ...policy })
      .map(([directive, sources]) => `${directive} ${sources}`)
      .join('; '),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  };
}

/** On every response. Pages have a stricter policy, which would break scripts that run as workers. */
export const securityHeaders: Headers = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "frame-ancestors 'none'",
};

export const page = (html: string, status = 200): Reply => ({ status, headers: pageHeaders(), body: html });

export function notFoundPage(path: string): Reply {
  return page(
    `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Not found</title>
<p>There is nothing at <code>${escapeHtml(path)}</code>.
<p>The <a href="/api">API page</a> shows what this server can do.
</html>
`,
    404,
  );
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
