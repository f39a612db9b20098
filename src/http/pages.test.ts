import { expect, test } from 'vitest';
import { escapeHtml, notFoundPage, pageHeaders } from './pages.ts';

test('notFoundPage: links to the API page and shows the path as text', () => {
  const reply = notFoundPage('/<script>alert("1")</script>');
  expect(reply.status).toBe(404);
  expect('body' in reply && reply.body).toContain('<a href="/api">');
  expect('body' in reply && reply.body).toContain('&#60;script&#62;');
  expect('body' in reply && reply.body).not.toContain('<script');
});

test('escapeHtml: escapes every character with a meaning in HTML', () =>
  expect(escapeHtml(`<&>"'`)).toBe('&#60;&#38;&#62;&#34;&#39;'));

test('pageHeaders: same-origin content only, no frames, no type sniffing', () =>
  expect(pageHeaders()).toEqual({
    'content-type': 'text/html',
    'content-security-policy':
      "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'same-origin',
  }));

test('pageHeaders: replaces one directive and keeps the others', () => {
  const policy = pageHeaders({ 'img-src': "'self' data:" })['content-security-policy'];
  expect(policy).toContain("img-src 'self' data:");
  expect(policy).toContain("frame-ancestors 'none'");
});
