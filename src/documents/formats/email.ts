import { percentDecoded } from '../../core/percent-decoded.ts';
import { whole } from '../../core/slices.ts';
import { decodeAs } from './encoding.ts';
import { htmlText } from './html.ts';
import { decodeText } from './plain-text.ts';
import type { Mark } from './sections.ts';
import type { StructuredText } from './text-lines.ts';

/** Messages inside of messages, and parts inside of parts. */
const maxDepth = 10;
const maxParts = 1000;
const maxMessages = 100_000;
const displayedFields = ['From', 'To', 'Cc', 'Date', 'Subject'] as const;

/** Whether a file that is named as e-mail begins with a header; RFC 5322 allows any name for it. */
export const beginsWithHeader = (text: string): boolean => /^[!-9;-~]{1,80}[ \t]*:(?!\/\/)/.test(text);

/** Whether a file of any name is e-mail: other texts have lines with a colon, too. */
export const isEmail = (text: string): boolean =>
  /^(?:From |(?:Received|Return-Path|Delivered-To|MIME-Version|Message-ID|From|To|Date|Subject|X-[\w-]+): )/i.test(
    text,
  ) && headersOf(text.slice(0, 65_536)).fields.has('from');

export const isMailbox = (text: string): boolean => /^From \S+.*\n(?:>?[\w-]+:|>From )/.test(text);

/** The messages of a mail file or a mailbox; `latin` has one character for each byte. */
export function* emailText(latin: string): Generator<void, StructuredText & { readonly title: string }> {
  const texts: string[] = [];
  const marks: Mark[] = [];
  let length = 0;
  let title = '';
  for (const source of messagesOf(latin)) {
    const message: Reading = { lines: [], parts: 0, subject: '' };
    readEntity(source, message, 0);
    yield;
    const text = message.lines.join('\n').trim();
    title ||= message.subject;
    marks.push({ type: 'heading', at: length, level: 1, title: message.subject });
    texts.push(text);
    length += text.length + 2;
  }
  return { title: texts.length === 1 ? title : '', text: texts.join('\n\n'), marks };
}

interface Reading {
  readonly lines: string[];
  parts: number;
  subject: string;
}

function* messagesOf(latin: string): Generator<string> {
  // A byte order mark may be before the first header.
  const text = latin.replace(/^\xef\xbb\xbf/, '').replace(/\r\n?/g, '\n');
  if (!isMailbox(text)) {
    yield text;
    return;
  }
  let start = 0;
  for (let count = 0; start < text.length && count < maxMessages; count += 1) {
    const next = text.indexOf('\n\nFrom ', start);
    const end = next === -1 ? text.length : next + 2;
    yield text.slice(text.indexOf('\n', start) + 1 || end, end).replace(/^>(>*From )/gm, '$1');
    start = end;
  }
}

/** A message or a part of one. */
function readEntity(source: string, message: Reading, depth: number): void {
  message.parts += 1;
  if (depth > maxDepth || message.parts > maxParts) return;
  const { fields, body } = headersOf(source);
  // A draft has no sender yet.
  if (depth === 0 || (fields.has('from') && fields.has('subject'))) {
    for (const name of displayedFields) {
      const value = decodedWords(fields.get(name.toLowerCase()) ?? '');
      if (value !== '') message.lines.push(`${name}: ${value}`);
      if (name === 'Subject' && message.subject === '') message.subject = value;
    }
    message.lines.push('');
  }
  const type = fields.get('content-type') ?? 'text/plain';
  const [kind = ''] = type.toLowerCase().split(';');
  const boundary = parameterOf(type, 'boundary');
  if (kind.startsWith('multipart/') && boundary !== undefined) {
    const parts = partsOf(body, boundary);
    // The same text in several forms: the plain one if there is one.
    const plain = kind.includes('alternative')
      ? parts.find((part) => /^content-type:\s*text\/plain/im.test(headOf(part)))
      : undefined;
    for (const part of plain ? [plain] : parts) readEntity(part, message, depth + 1);
    return;
  }
  const disposition = fields.get('content-disposition') ?? '';
  const name = decodedWords(parameterOf(disposition, 'filename') ?? parameterOf(type, 'name') ?? '');
  if (kind.trim() === 'message/rfc822') readEntity(body, message, depth + 1);
  else if (/^\s*attachment/i.test(disposition) || !/^text\/(plain|html)/.test(kind.trim())) {
    if (name !== '' || depth > 0) message.lines.push(`[Attachment: ${name || kind.trim()}]`, '');
  } else {
    const bytes = decodedBody(body, fields.get('content-transfer-encoding') ?? '');
    const text = textIn(bytes, parameterOf(type, 'charset'));
    message.lines.push(kind.includes('html') ? whole(htmlText(text)).text : text.trim(), '');
  }
}

const maxHeader = 65_536;
const headOf = (part: string): string => part.slice(0, Math.min(maxHeader, part.indexOf('\n\n') >>> 0));

function headersOf(source: string): { fields: ReadonlyMap<string, string>; body: string } {
  const end = source.indexOf('\n\n');
  const head = (end === -1 ? source : source.slice(0, end)).slice(0, maxHeader).replace(/\n[ \t]+/g, ' ');
  const fields = new Map<string, string>();
  for (const line of head.split('\n')) {
    const [, name, value = ''] = /^([\w-]{1,80})[ \t]*:\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined && !fields.has(name.toLowerCase())) fields.set(name.toLowerCase(), value.trim());
  }
  return { fields, body: end === -1 ? '' : source.slice(end + 2) };
}

function partsOf(body: string, boundary: string): string[] {
  const parts = `\n${body}`.split(`\n--${boundary}`).slice(1, maxParts);
  const last = parts.findIndex((part) => part.startsWith('--'));
  return (last === -1 ? parts : parts.slice(0, last)).map((part) => part.slice(part.indexOf('\n') + 1));
}

function parameterOf(field: string, name: string): string | undefined {
  const match = new RegExp(`;\\s*${name}\\*?=(?:"([^"]{0,300})"|([^;\\s]{1,300}))`, 'i').exec(field.slice(0, 4000));
  const value = match?.[1] ?? match?.[2];
  // RFC 5987: UTF-8''name.
  return value?.replace(/^[\w-]+'\w*'(.*)$/, (_, encoded: string) => percentDecoded(encoded));
}

/** RFC 2047: `=?utf-8?B?…?=`. */
function decodedWords(field: string): string {
  const joined = field.slice(0, 4000).replace(/\?=\s+=\?/g, '?==?');
  const words = joined.replace(
    /=\?([\w-]{1,40})(?:\*\w*)?\?([BQ])\?([^?]*)\?=/gi,
    (_, charset: string, how: string, coded: string) =>
      textIn(
        how.toUpperCase() === 'B'
          ? decodedBody(coded, 'base64')
          : decodedBody(coded.replaceAll('_', ' '), 'quoted-printable'),
        charset,
      ),
  );
  const text = words === joined ? textIn(bytesOf(words), undefined) : words;
  return text.replace(/\s+/g, ' ').trim();
}

function decodedBody(body: string, encoding: string): Uint8Array {
  const how = encoding.trim().toLowerCase();
  if (how === 'base64') return Buffer.from(body, 'base64');
  if (how !== 'quoted-printable') return bytesOf(body);
  const plain = body
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/=\n/g, '')
    .replace(/=([\da-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return bytesOf(plain);
}

const bytesOf = (latin: string): Uint8Array => Buffer.from(latin, 'latin1');

function textIn(bytes: Uint8Array, charset: string | undefined): string {
  try {
    if (charset !== undefined && !/^(us-)?ascii$/i.test(charset))
      return decodeAs(charset, bytes).replace(/\r\n?/g, '\n');
  } catch {
    // An unknown name.
  }
  return decodeText(bytes) ?? '';
}
