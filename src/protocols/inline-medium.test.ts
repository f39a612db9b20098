import { expect, test } from 'vitest';
import { contradicts, inlineMedium, type SentMedium } from './inline-medium.ts';

const read = (data: string, own: Partial<SentMedium> = {}) =>
  inlineMedium({ kind: 'image', data, field: 'images[0]', ...own });
const encoded = (text: string) => Buffer.from(text, 'latin1').toString('base64');

test.each([
  ['data:image/png;base64,iVBORw0KGgo=', { base64: 'iVBORw0KGgo=', format: 'image/png' }],
  ['DATA:image/jpeg;name=a.jpg;BASE64,/9j/4AAQ', { base64: '/9j/4AAQ', format: 'image/jpeg' }],
  ['data:;base64,AAAA', { base64: 'AAAA' }],
  ['iVBORw0KGgo=', { base64: 'iVBORw0KGgo=' }],
  ['iVBORw0KGgo', { base64: 'iVBORw0KGgo' }],
  ['iVBO\r\nRw0K\r\n', { base64: 'iVBORw0K' }],
  ['-_-_', { base64: '-_-_' }],
])('%j is a picture', (data, medium) => expect(read(data)).toEqual({ kind: 'image', ...medium }));

test.each([
  ['', 'a picture in base64'],
  ['====', 'a picture in base64'],
  ['AAAAA', 'a picture in base64'],
  ['AA=A', 'a picture in base64'],
  ['not base64!', 'a picture in base64'],
  ['data:image/png,%89PNG', 'a picture in base64'],
  ['data:image/png;base64', 'a picture in base64'],
  ['file:///etc/passwd', 'a picture in base64'],
  ['https://pictures.example/a.png', 'a picture in base64'],
  ['data:audio/wav;base64,AAAA', 'a picture, and audio/wav is none'],
  ['data:text/html;base64,AAAA', 'a picture, and text/html is none'],
])('%j is refused', (data, expected) => expect(() => read(data)).toThrow(`images[0] must be ${expected}.`));

test('what is too large is refused', () => {
  expect(() => read('A'.repeat(45 * 1024 * 1024))).toThrow('images[0] must be a picture of at most 32 MB.');
});

test('millions of characters are read in no time', () => {
  const data = `data:image/png;base64,${'A'.repeat(20_000_000)}`;
  expect(read(data).base64).toHaveLength(20_000_000);
  expect(() => read(`${data}!`)).toThrow('base64');
});

test('the type in front wins over the one beside it', () => {
  expect(read('AAAA', { format: 'image/webp' }).format).toBe('image/webp');
  expect(read('data:image/png;base64,AAAA', { format: 'image/webp' }).format).toBe('image/png');
  expect(() => read('AAAA', { format: 'application/pdf' })).toThrow('application/pdf is none');
});

test.each([
  ['RIFF\x24\x08\x00\x00WAVEfmt ', 'audio'],
  ['ID3\x04\x00', 'audio'],
  ['\xff\xfb\x90\x00', 'audio'],
  ['fLaC\x00\x00', 'audio'],
  ['\x89PNG\r\n\x1a\n', 'image'],
  ['\xff\xd8\xff\xe0', 'image'],
  ['RIFF\x24\x08\x00\x00WEBPVP8 ', 'image'],
  ['GIF89a', 'image'],
])('bytes that begin with %j are of the kind %s', (bytes, kind) =>
  expect(read(encoded(bytes), { kind: undefined }).kind).toBe(kind),
);

test.each([
  ['image/png', 'image', false],
  ['image/png', 'audio', true],
  ['audio/mpeg', 'audio', false],
  ['wav', 'audio', false],
  ['application/octet-stream', 'image', false],
  ['binary/octet-stream', 'image', false],
  ['video/mp4', 'image', true],
  ['text/html; charset=utf-8', 'image', true],
  ['application/json', 'image', true],
] as const)('%s for the kind %s is a contradiction: %s', (type, kind, expected) =>
  expect(contradicts(type, kind)).toBe(expected),
);
