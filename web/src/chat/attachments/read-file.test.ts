import { afterEach, describe, expect, test, vi } from 'vitest';
import { zipOf } from '../../../../src/documents/testing/zip.ts';
import { attachmentOf, type Capabilities } from './read-file.ts';
import { transcriptOf } from './transcript.ts';

const sent: { path: string; form: FormData }[] = [];
vi.mock('../../api/call.ts', () => ({
  read: async (path: string, { body }: { body: FormData }) => {
    sent.push({ path, form: body });
    return { text: '  Good morning. ' };
  },
}));
vi.mock('./pdf.ts', () => ({
  textOfPdf: async (file: Blob) => {
    const text = await file.text();
    // As PDF.js names them.
    if (text.endsWith('Exception')) throw Object.assign(new Error('of PDF.js'), { name: text });
    return text.replace('%PDF', '');
  },
}));
afterEach(() => sent.splice(0));

const none: Capabilities = { vision: false, audio: false, transcribe: false };
const file = (name: string, type: string, content = 'content'): File => new File([content], name, { type });

describe('attachmentOf: image', () => {
  test('is attached if the model has vision', async () => {
    const photo = file('cat.png', 'image/png');
    expect(await attachmentOf(photo, { ...none, vision: true })).toMatchObject({
      kind: 'image',
      name: 'cat.png',
      blob: photo,
    });
  });

  test('is rejected without vision, naming what to do', async () => {
    await expect(attachmentOf(file('cat.png', 'image/png'), none)).rejects.toThrow(
      /Can't attach cat\.png: .*Switch to a vision model/,
    );
  });
});

describe('attachmentOf: audio', () => {
  const talk = file('talk.mp3', 'audio/mpeg');

  test('is attached if the model accepts audio', async () => {
    const capabilities = { vision: false, audio: true, transcribe: true };
    expect(await attachmentOf(talk, capabilities)).toMatchObject({ kind: 'audio', blob: talk });
    expect(sent).toEqual([]);
  });

  test('is transcribed if only the server can', async () => {
    const attachment = await attachmentOf(talk, { ...none, transcribe: true });
    expect(attachment).toMatchObject({ kind: 'text', name: 'talk.mp3 (transcript)', text: 'Good morning.' });
    expect(attachment.blob).toBeUndefined();
  });

  test('is rejected without speech recognition', async () => {
    await expect(attachmentOf(talk, none)).rejects.toThrow('speech recognition');
  });

  test('from the microphone has a file name with its type', async () => {
    expect(await transcriptOf(new Blob(['x'], { type: 'audio/webm;codecs=opus' }))).toBe('Good morning.');
    await transcriptOf(new Blob(['x'], { type: 'audio/ogg' }));
    const names = sent.map(({ form }) => (form.get('file') as File).name);
    expect(names).toEqual(['recording.webm', 'recording.ogg']);
    expect(sent[0]?.path).toBe('v1/audio/transcriptions');
  });
});

describe('attachmentOf: text', () => {
  test('is attached as text', async () => {
    const attachment = await attachmentOf(file('notes.md', '', '# Milk'), none);
    expect(attachment).toMatchObject({ kind: 'text', name: 'notes.md', text: '# Milk' });
  });

  test('is rejected if it is binary', async () => {
    await expect(attachmentOf(file('notes.txt', 'text/plain', 'a\0b'), none)).rejects.toThrow(
      'notes.txt: it is not a text file.',
    );
  });

  test('is extracted from a PDF', async () => {
    const attachment = await attachmentOf(file('paper.pdf', 'application/pdf', '%PDFWords'), none);
    expect(attachment).toMatchObject({ kind: 'text', name: 'paper.pdf', text: 'Words' });
  });

  test('is rejected if a PDF has none', async () => {
    await expect(attachmentOf(file('scan.pdf', 'application/pdf', '%PDF \n'), none)).rejects.toThrow(
      'contains no text',
    );
  });
});

describe('attachmentOf: documents', () => {
  test('are attached as text', async () => {
    const xml = '<w:document><w:body><w:p><w:r><w:t>Words</w:t></w:r></w:p></w:body></w:document>';
    const docx = new File([(await zipOf({ 'word/document.xml': xml })).slice()], 'paper.docx');
    expect(await attachmentOf(docx, none)).toMatchObject({ kind: 'text', name: 'paper.docx', text: 'Words' });
    const rtf = file('notes.rtf', 'text/rtf', '{\\rtf1 Hello\\par}');
    expect(await attachmentOf(rtf, none)).toMatchObject({ kind: 'text', name: 'notes.rtf', text: 'Hello' });
  });

  test('are rejected if they are damaged or empty, with the reason', async () => {
    await expect(attachmentOf(file('paper.docx', '', 'no zip'), none)).rejects.toThrow(/^Can't attach paper\.docx: ./);
    const other = new File([(await zipOf({ 'a.xml': '<a/>' })).slice()], 'other.docx');
    await expect(attachmentOf(other, none)).rejects.toThrow("Can't attach other.docx: it is damaged.");
    const empty = new File([(await zipOf({ 'content.xml': '<office:body/>' })).slice()], 'empty.odt');
    await expect(attachmentOf(empty, none)).rejects.toThrow("Can't attach empty.odt: it contains no text.");
  });
});

test.each([
  ['InvalidPDFException', "Can't attach a.pdf: it is damaged."],
  ['PasswordException', "Can't attach a.pdf: it needs a password. Save it without one."],
  ['OtherException', "Can't attach a.pdf: of PDF.js"],
])('attachmentOf: a PDF that fails with %s is refused with the reason', async (name, sentence) => {
  await expect(attachmentOf(file('a.pdf', 'application/pdf', name), none)).rejects.toThrow(sentence);
});

test.each([
  [file('film.mp4', 'video/mp4'), 'unsupported file type'],
  [file('empty.txt', 'text/plain', ''), 'is empty'],
])('attachmentOf: rejects unsupported files without reading them', async (one, reason) => {
  await expect(attachmentOf(one, { vision: true, audio: true, transcribe: true })).rejects.toThrow(reason);
});

test('attachmentOf: gives each attachment a new id', async () => {
  const ids = await Promise.all(
    ['a.txt', 'b.txt', 'c.txt'].map((name) => attachmentOf(file(name, 'text/plain'), none)),
  );
  expect(new Set(ids.map(({ id }) => id)).size).toBe(3);
});
