import { expect, test } from 'vitest';
import { escapeHtml, notFoundPage, pageHeaders } from './pages.ts';

test('the page of an unknown path links to the API page and shows the path as text', () => {
  const reply = notFoundPage('/<script>alert("1")</script>');
  expect(reply.status).toBe(404);
  expect('body' in reply && reply.body).toContain('<a href="/api">');
  expect('body' in reply && reply.body).toContain('&#60;script&#62;');
  expect('body' in reply && reply.body).not.toContain('<script');
});

test('nothing that HTML knows survives the escape', () =>
  expect(escapeHtml(`<&>"'`)).toBe('&#60;&#38;&#62;&#34;&#39;'));

test('pages load only from here, stand in no frame, and are not guessed at', () =>
  expect(pageHeaders()).toEqual({
    'content-type': 'text/html',
    'content-security-policy':
      "default-src 'self'; base-uri 'none'; object-src 'none'; form-action 'self'; frame-ancestors 'none'",
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  }));

test('a page may widen one directive without losing the others', () => {
  const policy = pageHeaders({ 'img-src': "'self' data:" })['content-security-policy'];
  expect(policy).toContain("img-src 'self' data:");
  expect(policy).toContain("frame-ancestors 'none'");
});
