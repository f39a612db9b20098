import OpenAI from 'openai';
import { expect, test } from 'vitest';
import { turns } from '../../chat/adapters/adapter.ts';
import { AppError } from '../../core/errors.ts';
import { memoryLibraries } from '../../documents/testing/memory-libraries.ts';
import { ResponseStore } from '../../store/responses.ts';
import { freshFolders } from '../../store/testing/folder.ts';
import type { DialectContext } from '../dialect.ts';
import { decodeChat } from '../openai/chat/decode.ts';
import { openaiEndpoints } from '../openai/routes.ts';
import { responseState } from '../responses/background.ts';
import { responseFile } from '../responses/conversation.ts';
import { responsesEndpoints } from '../responses/routes.ts';
import { bindAll } from '../testing/bind.ts';
import { dialectParts, seeing } from '../testing/doubles.ts';
import { said, sdkWorld } from '../testing/sdk-world.ts';
import { ownDocuments } from './library.ts';
import { loadFiles, type SentFile } from './sent-files.ts';

const freshFolder = freshFolders();
const { tags } = turns(['<system>', '</system>'], ['<user>', '</user>'], ['<assistant>', '</assistant>']);
const base64 = (text: string): string => Buffer.from(text, 'latin1').toString('base64');
const png = '\x89PNG\r\n\x1a\n';
const pdf = '%PDF-1.7 \0';

function library() {
  const libraries = memoryLibraries({ folder: freshFolder() });
  const upload = async (text: string, name: string): Promise<string> => {
    const content = (async function* () {
      yield Buffer.from(text, 'latin1');
    })();
    const signal = new AbortController().signal;
    return (await libraries.files.of({}).add({ name, purpose: 'user_data' }, content, signal)).id;
  };
  return { libraries, upload };
}

async function load(...sources: readonly Omit<SentFile, 'field'>[]) {
  const { libraries } = library();
  const extracted: string[] = [];
  const own = ownDocuments({}, libraries);
  const extract: typeof own.extract = (name, ...rest) => {
    extracted.push(name);
    return own.extract(name, ...rest);
  };
  const sent = new Map(sources.map((source, index) => [{ index }, { ...source, field: `file[${index}]` }]));
  const fetchMedia = async (url: string) =>
    url.startsWith('https://a.example')
      ? ({ type: 'fetched', bytes: Buffer.from(pdf, 'latin1'), contentType: 'application/pdf' } as const)
      : ({ type: 'refused', reason: 'is not on the public internet' } as const);
  const loaded = await loadFiles(sent, { own: { ...own, extract }, fetchMedia, signal: new AbortController().signal });
  return { loaded: [...loaded.values()], extracted };
}

const data = (text: string, type = '') =>
  ({ type: 'data', data: `${type && `data:${type};base64,`}${base64(text)}` }) as const;

test('loadFiles: plain text is read as it is, other documents are extracted by name or kind', async () => {
  const { loaded, extracted } = await load(
    { name: 'a.py', source: data('print(1)') },
    { name: 'a.html', source: data('<p>Hi</p>') },
    { source: data(pdf, 'application/pdf') },
    { source: { type: 'address', url: 'https://a.example/guide?x=1' } },
  );
  expect(loaded.map(({ type, name }) => [type, name])).toEqual([
    ['document', 'a.py'],
    ['document', 'a.html'],
    ['document', 'file'],
    ['document', 'guide'],
  ]);
  expect(extracted).toEqual(['a.html', 'file.pdf', 'guide.pdf']);
});

test('loadFiles: pictures and sounds are media', async () => {
  const { loaded } = await load({ source: data(png) }, { source: data('x', 'audio/wav') });
  expect(loaded).toMatchObject([
    { type: 'medium', kind: 'image', base64: base64(png) },
    { type: 'medium', kind: 'audio', mime: 'audio/wav' },
  ]);
});

test('loadFiles: the same file again is loaded once, and the number of files is limited', async () => {
  const same = { name: 'a.html', source: data('<p>Hi</p>') };
  const { loaded, extracted } = await load(...Array(40).fill(same));
  expect([loaded.length, extracted.length]).toEqual([40, 1]);
  const many = Array.from({ length: 33 }, (_, index) => ({ source: data(`${index}`) }));
  await expect(load(...many)).rejects.toThrow('at most 32 files');
});

test.each([
  [{ source: { type: 'address', url: 'http://127.0.0.1/' } }, 'is not on the public internet'],
  [
    { source: { type: 'file', id: 'file-x' } },
    'There is no file "file-x" on this server. file[0] must be the id of a file that was uploaded with POST /v1/files.',
  ],
  [{ source: data('') }, 'not empty'],
] as const)('loadFiles: refuses %j', async (file, sentence) => {
  await expect(load(file)).rejects.toThrow(sentence);
});

test('loadFiles: a file that cannot be read names its place in the request', async () => {
  const extract = async (name: string): Promise<never> => {
    throw new AppError('document-unreadable', { name, reason: 'it is damaged', kind: 'invalid' });
  };
  const own = { ...ownDocuments({}, library().libraries), extract };
  const sent = new Map([[{}, { field: 'file[0]', name: 'a.pdf', source: data(pdf) }]]);
  await expect(loadFiles(sent, { own, signal: new AbortController().signal })).rejects.toMatchObject({
    message: 'a.pdf cannot be read: it is damaged.',
    details: { field: 'file[0]' },
  });
});

test.each([
  [{ file_url: 'https://a.example/b.pdf' }, /file\.file_url is not possible: this API takes no addresses of files/],
  [{ filename: 'b.pdf' }, /file must be a file with file_id or file_data, and has neither/],
  [{ file_data: '' }, /file must be a file with file_id or file_data, and has neither/],
])('chat completions: a file %j says what it must have', async (file, sentence) => {
  const messages = [{ role: 'user', content: [{ type: 'file', file }] }];
  await expect(decodeChat({ messages }, dialectParts())).rejects.toThrow(sentence);
});

test('responseFile: a file without its content says what it must have', () => {
  expect(() => responseFile({ type: 'input_file', filename: 'b.pdf' }, 'input[0]')).toThrow(
    'input[0] must be a file with one of file_id, file_url and file_data.',
  );
});

test('files of requests: chat completions and Responses take them by id and as base64', async () => {
  const { libraries, upload } = library();
  const responses = responseState(new ResponseStore());
  const endpoints = (parts: DialectContext) => [
    ...bindAll(openaiEndpoints({ ...parts, ...libraries }), { ...parts, replacePlaceholders: (texts) => texts }),
    ...bindAll(responsesEndpoints(responses, { ...parts, ...libraries }), parts),
  ];
  const { base, asked } = await sdkWorld(said('Hi'), endpoints, { tags, text: { state: () => seeing() } });
  const client = new OpenAI({ baseURL: `${base}/v1`, apiKey: 'none', maxRetries: 0 });
  const [notes, picture] = [await upload('in a file', 'notes.txt'), await upload(png, 'a.png')];
  const html = base64('<p>in base64</p>');
  await client.chat.completions.create({
    model: 'any',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'file', file: { file_id: notes } },
          { type: 'file', file: { filename: 'a.html', file_data: html } },
          { type: 'file', file: { file_id: picture } },
        ],
      },
    ],
  });
  const first = await client.responses.create({
    model: 'any',
    input: [
      {
        role: 'user',
        content: [
          { type: 'input_file', file_id: notes },
          { type: 'input_image', file_id: picture, detail: 'auto' },
        ],
      },
    ],
  });
  await client.responses.create({ model: 'any', input: 'And?', previous_response_id: first.id });
  const [chat, response, next] = asked.map(({ request }) => request);
  expect(chat?.prompt).toContain('in a file<p>in base64</p>');
  expect(chat?.media).toMatchObject([{ kind: 'image' }]);
  for (const request of [response, next]) {
    expect(request?.prompt).toContain('notes.txt:\nin a file\n');
    expect(request?.media).toMatchObject([{ kind: 'image' }]);
  }
  const both = { type: 'input_file' as const, file_id: notes, file_data: html };
  const asking = client.responses.create({ model: 'any', input: [{ role: 'user', content: [both] }] });
  await expect(asking).rejects.toMatchObject({ status: 400 });
});
