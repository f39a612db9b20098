import { expect, test } from 'vitest';
import type { Fetched } from '../http/outgoing.ts';
import { Attachments, contradicts, inlineMedium, mediaInputs, type SentMedium, withMedia } from './media.ts';
import { readyState, seeing } from './testing/doubles.ts';

const signal = new AbortController().signal;
const png: Fetched = { type: 'fetched', bytes: Buffer.from([1, 2, 3]), contentType: 'image/png' };

function attachments(addresses = true): Attachments {
  return new Attachments(seeing(), { addresses });
}

const image = (data: string, field = 'x') => ({ kind: 'image', data, field }) as const;

test('Attachments: keeps the order of inline and fetched media', async () => {
  const all = attachments();
  expect(all.add(image('AAAA'))).toEqual({ type: 'medium', index: 0 });
  expect(all.add(image('https://pictures.example/a.png'))).toEqual({ type: 'medium', index: 1 });
  expect(all.add({ kind: 'audio', data: 'BBBB', field: 'y', format: 'wav' })).toEqual({ type: 'medium', index: 2 });
  expect(await all.all(async () => png, signal)).toEqual([
    { kind: 'image', base64: 'AAAA' },
    { kind: 'image', base64: 'AQID', format: 'image/png' },
    { kind: 'audio', base64: 'BBBB', format: 'wav' },
  ]);
});

test('Attachments: fetches an address once', async () => {
  const asked: string[] = [];
  const all = attachments();
  for (const name of ['a', 'b', 'a']) all.add(image(`http://pictures.example/${name}`));
  const media = await all.all(async (url) => {
    asked.push(url);
    return png;
  }, signal);
  expect(asked).toEqual(['http://pictures.example/a', 'http://pictures.example/b']);
  expect(media).toHaveLength(3);
});

test.each<[Fetched, string]>([
  [{ type: 'refused', reason: 'answers with status 404' }, 'answers with status 404'],
  [{ ...png, contentType: 'text/html' }, 'holds text/html'],
  [{ ...png, bytes: Buffer.alloc(0) }, 'is empty'],
])('Attachments: names the field of an address that gives %j', async (fetched, reason) => {
  const all = attachments();
  all.add(image('http://pictures.example/a', 'messages[0].content[1].image_url.url'));
  await expect(all.all(async () => fetched, signal)).rejects.toMatchObject({
    code: 'invalid-field',
    message: `messages[0].content[1].image_url.url must be an address that can be fetched, and this one ${reason}.`,
  });
});

test('Attachments: refuses addresses of this machine without a request', async () => {
  const all = attachments();
  all.add(image('http://127.0.0.1:1/a'));
  await expect(all.all(undefined, signal)).rejects.toThrow('is not on the public internet');
});

test.each(['file:///etc/passwd', 'ftp://pictures.example/a', 'blob:http://localhost/1'])(
  'Attachments: refuses %s',
  (data) =>
    expect(() => attachments().add(image(data))).toThrow(
      'x must be a data URL, base64, or an address with http or https.',
    ),
);

test('Attachments: refuses addresses in a dialect without them', () => {
  expect(() => attachments(false).add(image('https://pictures.example/a.png'))).toThrow('in base64');
});

test('Attachments: refuses kinds that the loaded model does not take, with what to do', () => {
  const blind = new Attachments(readyState(), { addresses: true });
  for (const data of ['AAAA', 'https://pictures.example/a.png']) {
    expect(() => blind.add(image(data, 'images'))).toThrow(
      'Image input (images) is not possible: the loaded model has no projector for it; start the server with --mmproj FILE.',
    );
  }
  const deaf = new Attachments(seeing({ image: true, audio: false }), { addresses: true });
  expect(() => deaf.add({ kind: 'audio', data: 'AAAA', field: 'x' })).toThrow('Audio input');
  expect(deaf.add(image('AAAA'))).toEqual({ type: 'medium', index: 0 });
});

test('mediaInputs: all kinds while a model is being loaded', () => {
  expect(mediaInputs({ type: 'loading', name: 'mini', progress: 0 })).toEqual({ image: true, audio: true });
  expect(mediaInputs(readyState())).toEqual({ image: false, audio: false });
});

test('Attachments: limits the number of media, and further that of addresses', () => {
  const many = attachments();
  for (let count = 0; count < 64; count++) many.add(image('AAAA'));
  expect(() => many.add(image('AAAA'))).toThrow('x must be one of at most 64 of its kind.');
  expect(many.add({ kind: 'audio', data: 'AAAA', field: 'x' })).toBeDefined();
  const named = attachments();
  for (let count = 0; count < 16; count++) named.add(image(`http://pictures.example/${count}`));
  expect(() => named.add(image('http://pictures.example/16'))).toThrow('at most 16');
});

test('Attachments: adds images in tool results', () => {
  const all = attachments();
  const result = JSON.stringify({ content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] });
  expect(all.toolResult(result, 'x')).toEqual([
    { type: 'text', text: '{"content":[{"type":"text","text":"(the image is attached)"}]}' },
    { type: 'medium', index: 0 },
  ]);
  expect(all.inline()).toEqual([{ kind: 'image', base64: 'AAAA', format: 'image/png' }]);
  const broken = JSON.stringify({ content: [{ type: 'image', data: '!' }] });
  expect(() => all.toolResult(broken, 'messages[2].content')).toThrow(
    'messages[2].content must be a picture in base64.',
  );
});

test('withMedia: returns a request without media unchanged', async () => {
  const request = { conversation: { messages: [], media: [], tools: [] } } as never;
  expect(await withMedia(request, attachments(), { signal })).toBe(request);
});

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
])('inlineMedium: accepts %j as an image', (data, medium) => expect(read(data)).toEqual({ kind: 'image', ...medium }));

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
])('inlineMedium: refuses %j', (data, expected) => expect(() => read(data)).toThrow(`images[0] must be ${expected}.`));

test('inlineMedium: refuses media that are too large', () => {
  expect(() => read('A'.repeat(45 * 1024 * 1024))).toThrow('images[0] must be a picture of at most 32 MB.');
});

test('inlineMedium: is fast for millions of characters', () => {
  const data = `data:image/png;base64,${'A'.repeat(20_000_000)}`;
  expect(read(data).base64).toHaveLength(20_000_000);
  expect(() => read(`${data}!`)).toThrow('base64');
});

test('inlineMedium: the type of the data URL wins over format', () => {
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
])('inlineMedium: bytes that begin with %j are of kind %s', (bytes, kind) =>
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
] as const)('contradicts: type %s for kind %s: %s', (type, kind, expected) =>
  expect(contradicts(type, kind)).toBe(expected),
);
