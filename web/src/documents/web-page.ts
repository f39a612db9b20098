import { htmlText } from '../../../src/documents/formats/html.ts';
import { read } from '../api/call.ts';
import { bytesIn } from '../api/loose.ts';
import { texts } from './texts.ts';
import { WebFile } from './web-file.ts';
import { inSlices } from './yielding.ts';

interface WirePage {
  readonly success: boolean;
  readonly error?: string;
  readonly content_type?: string;
  readonly data?: string;
}

/** The address as the person meant it; undefined if it is none. */
export function webAddress(typed: string): string | undefined {
  const text = typed.trim();
  const whole = /^[a-z]+:/i.test(text) ? text : `https://${text}`;
  if (!URL.canParse(whole)) return undefined;
  const { protocol, hostname, href } = new URL(whole);
  return /^https?:$/.test(protocol) && hostname.includes('.') ? href : undefined;
}

/** Fetches a page through the server, as a file that can be attached: the text of pages, other files as they are. */
export async function fetchPage(url: string, signal?: AbortSignal): Promise<File> {
  const page = await read<WirePage>('api/extra/webpage', { body: { url }, signal });
  if (!page.success) throw new Error(texts.page.failed(url, page.error ?? ''));
  const bytes = bytesIn(page.data ?? '');
  const type = (page.content_type ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const { host, pathname } = new URL(url);
  const last = decodeURIComponent(pathname.split('/').at(-1) ?? '');
  if (!/^(text\/html|application\/xhtml\+xml)$/.test(type)) return new WebFile([bytes], last || host, url, type);
  const { title, text } = await inSlices(htmlText(new TextDecoder().decode(bytes)));
  const name = (title || host).slice(0, 80);
  return new WebFile([text], name, url, 'text/plain');
}
