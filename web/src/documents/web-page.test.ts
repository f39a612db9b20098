import { expect, test } from 'vitest';
import { fakePage } from '../testing/page.ts';

test.each([
  ['a.example/x', 'https://a.example/x'],
  [' http://a.example ', 'http://a.example/'],
  ['hello', undefined],
  ['ftp://a.example/', undefined],
  ['javascript:alert(1)', undefined],
  ['', undefined],
])('webAddress: %j is %j', async (typed, address) => {
  fakePage();
  const { webAddress } = await import('./web-page.ts');
  expect(webAddress(typed)).toBe(address);
});

const encoded = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

test('fetchPage: a page is a text file with its title as name', async () => {
  const html = '<title>Towers</title><h1>Old</h1><p>Ä tower.</p><script>no()</script>';
  fakePage({ 'api/extra/webpage': () => ({ success: true, content_type: 'text/html', data: encoded(html) }) });
  const { fetchPage } = await import('./web-page.ts');
  const file = await fetchPage('https://a.example/t');
  expect(file).toMatchObject({ name: 'Towers', type: 'text/plain', url: 'https://a.example/t' });
  expect(await file.text()).toBe('# Old\n\nÄ tower.');
});

test('fetchPage: other files keep their name and type', async () => {
  fakePage({ 'api/extra/webpage': () => ({ success: true, content_type: 'application/pdf', data: encoded('%PDF') }) });
  const { fetchPage } = await import('./web-page.ts');
  expect(await fetchPage('https://a.example/a%20b.pdf')).toMatchObject({ name: 'a b.pdf', type: 'application/pdf' });
});

test('fetchPage: fails with the reason of the server', async () => {
  fakePage({ 'api/extra/webpage': () => ({ success: false, error: 'It is not there.' }) });
  const { fetchPage } = await import('./web-page.ts');
  await expect(fetchPage('https://a.example/')).rejects.toThrow("Can't attach https://a.example/: It is not there.");
});
