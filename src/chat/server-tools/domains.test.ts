import { expect, test } from 'vitest';
import { domainRule, KnownAddresses, withSites } from './domains.ts';

test('domainRule: a domain stands for its subdomains, and may have a path', () => {
  const allows = domainRule({ allowedDomains: ['Example.com/blog', 'https://other.org'] });
  const allowed = (url: string) => allows?.(new URL(url));
  expect(
    ['https://example.com/blog', 'https://a.example.com/blog/x', 'https://other.org/any'].map((url) => allowed(url)),
  ).toEqual([true, true, true]);
  expect(
    ['https://example.com/', 'https://example.com/blogs', 'https://notexample.com/blog', 'https://x.org/'].map((url) =>
      allowed(url),
    ),
  ).toEqual([false, false, false, false]);
});

test('domainRule: blocked domains; without lists there is no rule', () => {
  const allows = domainRule({ blockedDomains: ['bad.example'] });
  expect([allows?.(new URL('https://www.bad.example/')), allows?.(new URL('https://good.example/'))]).toEqual([
    false,
    true,
  ]);
  expect(domainRule({})).toBeUndefined();
});

test('withSites: names up to five domains in the query', () => {
  expect(withSites('cats', { allowedDomains: ['a.org', 'b.org'] })).toBe('cats site:a.org OR site:b.org');
  expect(withSites('cats', { allowedDomains: Array<string>(6).fill('a.org') })).toBe('cats');
});

test('KnownAddresses: finds addresses in texts, whatever their scheme, case of host and end', () => {
  const known = new KnownAddresses();
  known.add('See (https://A.example/Path?q=1#part), b.example/. And "http://c.example".');
  expect(['http://a.example/Path?q=1', 'https://b.example', 'https://c.example/'].map((url) => known.has(url))).toEqual(
    [true, true, true],
  );
  expect(['https://a.example/path?q=1', 'https://a.example/'].map((url) => known.has(url))).toEqual([false, false]);
});
