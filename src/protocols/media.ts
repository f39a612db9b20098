import { type Content, type ContentPart, readToolResult } from '../chat/messages.ts';
import type { ChatRequest } from '../chat/request.ts';
import type { AppError } from '../core/errors.ts';
import type { Medium } from '../core/request.ts';
import type { TextModel, TextState } from '../core/text-service.ts';
import type { Headers } from '../http/call.ts';
import { type FetchMedia, refuseMedia } from './dialect.ts';
import type { LoadedFile, LoadedFiles } from './documents/sent-files.ts';
import { described, looseTexts, orElse, picturesSchema, wrong } from './fields.ts';

/** As many of each kind as the native API keeps. */
const maxMedia = 64;
/** Fewer, because they are fetched at the same time and may be large. */
const maxAddresses = 16;

type RemoteMedium = Pick<Medium, 'kind'> & { readonly url: string; readonly field: string };

/** The images and sounds of a request, collected by the decoder. Addresses are fetched when all else of it is decoded. */
export class Attachments {
  readonly #inputs: TextModel['inputs'];
  readonly #addresses: boolean;
  readonly #files: LoadedFiles | undefined;
  readonly #media: (Medium | RemoteMedium)[] = [];

  /** `addresses`: whether clients of this dialect may send the URL of an image. */
  constructor(
    state: TextState,
    { addresses, files }: { readonly addresses: boolean; readonly files?: LoadedFiles | undefined },
  ) {
    this.#inputs = mediaInputs(state);
    this.#addresses = addresses;
    this.#files = files;
  }

  /** The file of a part of the request, if it was loaded. */
  file(part: object): LoadedFile | undefined {
    return this.#files?.get(part);
  }

  /** A picture or a sound among them. */
  addFile({ kind, base64, mime }: LoadedFile & { readonly type: 'medium' }, field: string): ContentPart {
    return this.add({ kind, data: base64, field, format: mime });
  }

  /** Adds one, and returns the content part that refers to it. */
  add(sent: SentMedium): ContentPart {
    // First of all: what is wrong with an image does not matter to a model without vision.
    const takesAny = this.#inputs.image || this.#inputs.audio;
    if (!takesAny || (sent.kind && !this.#inputs[sent.kind])) throw refuseMedia(sent.kind ?? 'image', sent.field);
    const remote: RemoteMedium = { kind: sent.kind ?? 'image', url: sent.data, field: sent.field };
    const medium = this.#addresses && isAddress(sent) ? remote : inlineMedium(sent);
    const { kind } = medium;
    if (!this.#inputs[kind]) throw refuseMedia(kind, sent.field);
    const alike = this.#media.filter((other) => other.kind === kind);
    if (alike.length >= maxMedia) throw wrong(sent.field, `one of at most ${maxMedia} of its kind`);
    if ('url' in medium && this.#remote().length >= maxAddresses) {
      throw wrong(sent.field, `one of at most ${maxAddresses} that are named by an address; send others as data URLs`);
    }
    this.#media.push(medium);
    return { type: 'medium', index: this.#media.length - 1 };
  }

  /** The result of a tool, with the media in it added. */
  toolResult(result: string, field: string): Content {
    return readToolResult(result, (kind, data, format) => this.add({ kind, data, field, format }));
  }

  get count(): number {
    return this.#media.length;
  }

  /** All that are not sent as addresses. */
  inline(): readonly Medium[] {
    return this.#media.flatMap((medium) => ('url' in medium ? [] : [medium]));
  }

  async all(fetchMedia: FetchMedia | undefined, signal: AbortSignal): Promise<readonly Medium[]> {
    const fetch = fetchMedia ?? fetchPublic;
    // A conversation has the same image again and again.
    const urls = [...new Set(this.#remote().map(({ url }) => url))];
    const fetched = new Map(await Promise.all(urls.map(async (url) => [url, await fetch(url, signal)] as const)));
    return this.#media.map((medium) => ('url' in medium ? fetchedMedium(medium, fetched.get(medium.url)) : medium));
  }

  #remote(): readonly RemoteMedium[] {
    return this.#media.flatMap((medium) => ('url' in medium ? [medium] : []));
  }
}

/** Loaded when the first client sends an address. */
export const fetchPublic: FetchMedia = async (url, signal) => {
  const { fetchRemote } = await import('../http/outgoing.ts');
  return fetchRemote(url, { signal });
};

/** What the loaded model takes; all kinds until it is known, and then the engine refuses them. */
export function mediaInputs(state: TextState): TextModel['inputs'] {
  return state.type === 'ready' ? state.model.inputs : { image: true, audio: true };
}

/** Images or sounds of the native API, in base64. Of too many the last ones count: a story grows at its end. */
export const readNativeMedia = orElse(
  described(picturesSchema, (value, path) => anyTexts(value, path).slice(-maxMedia)),
  [],
);
const anyTexts = looseTexts(Number.POSITIVE_INFINITY);

type NativeMedia = Readonly<Record<'images' | 'audio', readonly string[]>>;

export function nativeMedia({ images, audio }: NativeMedia, state: TextState): readonly Medium[] {
  const attachments = new Attachments(state, { addresses: false });
  for (const data of images) attachments.add({ kind: 'image', data, field: 'images' });
  for (const data of audio) attachments.add({ kind: 'audio', data, field: 'audio' });
  return attachments.inline();
}

export async function withMedia(
  request: ChatRequest,
  attachments: Attachments,
  { fetchMedia, signal }: { readonly fetchMedia?: FetchMedia | undefined; readonly signal: AbortSignal },
): Promise<ChatRequest> {
  if (attachments.count === 0) return request;
  const media = await attachments.all(fetchMedia, signal);
  return { ...request, conversation: { ...request.conversation, media } };
}

/** The tokens of media are known only when they are encoded, so a count without them needs a warning. */
export function uncountedHeaders({ conversation }: ChatRequest): Headers {
  return conversation.media.length > 0 ? { 'x-parley-warnings': 'media-not-counted' } : {};
}

/** Base64 has no scheme. A scheme that is not supported is refused. */
function isAddress({ data, field }: SentMedium): boolean {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(data.slice(0, 32))?.[1]?.toLowerCase();
  if (scheme === undefined || scheme === 'data') return false;
  if (scheme === 'http' || scheme === 'https') return true;
  throw wrong(field, 'a data URL, base64, or an address with http or https');
}

function fetchedMedium({ kind, field }: RemoteMedium, fetched: Awaited<ReturnType<FetchMedia>> | undefined): Medium {
  const refused = (reason: string): AppError => wrong(field, `an address that can be fetched, and this one ${reason}`);
  if (fetched?.type !== 'fetched') throw refused(fetched?.reason ?? 'was forgotten');
  const { bytes, contentType } = fetched;
  if (bytes.length === 0) throw refused('is empty');
  if (contentType && contradicts(contentType, kind)) throw refused(`holds ${contentType.slice(0, 100)}`);
  return { kind, base64: bytes.toString('base64'), ...(contentType ? { format: contentType } : {}) };
}

/** An image or a sound as a client sends it. */
export interface SentMedium {
  /** Undefined if the client does not say it; then it is found from the bytes. */
  readonly kind: Medium['kind'] | undefined;
  readonly data: string;
  readonly field: string;
  readonly format?: string | undefined;
}

const maxBytes = 32 * 1024 * 1024;
const nouns: Readonly<Record<Medium['kind'], string>> = { image: 'a picture', audio: 'a sound' };

/** A data URL, or bare base64. */
export function inlineMedium({ kind: declared, data, field, format }: SentMedium): Medium {
  const what = declared === undefined ? 'a picture or a sound' : nouns[declared];
  const { type, base64 } = inlineBase64(data, field, what);
  if (base64.length * 0.75 > maxBytes) throw wrong(field, `${what} of at most ${maxBytes / 1024 / 1024} MB`);
  const kind = declared ?? kindOf(base64);
  const known = type || format;
  if (known && contradicts(known, kind)) throw wrong(field, `${nouns[kind]}, and ${known.slice(0, 100)} is none`);
  return { kind, base64, ...(known ? { format: known } : {}) };
}

export function inlineBase64(data: string, field: string, what: string) {
  const { type, content, encoded } = splitDataUrl(data);
  const base64 = plainBase64(content);
  if (encoded && base64 !== undefined) return { type, base64 };
  throw wrong(field, `${what} in base64`);
}

/** Whether a media type is surely of another kind. Types that say nothing are left to the decoder. */
export function contradicts(type: string, kind: Medium['kind']): boolean {
  const [main = '', sub = ''] = type.toLowerCase().split(/[/;]/);
  // Clients name formats without a slash too (`wav`).
  if (!type.includes('/') || main === kind || main === 'binary') return false;
  return main !== 'application' || /json|xml|html|pdf|javascript/.test(sub);
}

/** For files, which may be anything: the kind of a data URL. */
export function dataUrlKind(data: string): Medium['kind'] | undefined {
  const main = /^data:(image|audio)\//i.exec(data.slice(0, 20))?.[1]?.toLowerCase();
  return main === 'image' || main === 'audio' ? main : undefined;
}

const maxHeaderLength = 200;

function splitDataUrl(data: string): { readonly type: string; readonly content: string; readonly encoded: boolean } {
  if (data.slice(0, 5).toLowerCase() !== 'data:') return { type: '', content: data, encoded: true };
  const comma = data.slice(0, maxHeaderLength).indexOf(',');
  const [type = '', ...more] = data.slice('data:'.length, Math.max(0, comma)).split(';');
  return { type, content: data.slice(comma + 1), encoded: more.at(-1)?.trim().toLowerCase() === 'base64' };
}

/** Without line breaks; undefined if it is not base64, of either alphabet. */
function plainBase64(text: string): string | undefined {
  const joined = /\s/.test(text) ? text.replace(/\s+/g, '') : text;
  const end = joined.endsWith('==') ? -2 : joined.endsWith('=') ? -1 : joined.length;
  const digits = joined.slice(0, end);
  // A search for one wrong character: to match the whole text would cost memory for each character.
  if (digits === '' || digits.length % 4 === 1 || /[^A-Za-z0-9+/_-]/.test(digits)) return undefined;
  return joined;
}

/** By the first bytes of the audio formats that engines can read; everything else counts as an image. */
function kindOf(base64: string): Medium['kind'] {
  const head = Buffer.from(base64.slice(0, 16), 'base64').toString('latin1');
  const sound =
    (head.startsWith('RIFF') && head.slice(8, 12) === 'WAVE') ||
    /^(ID3|fLaC|OggS)/.test(head) ||
    /^\xff[\xe2-\xff]/.test(head.slice(0, 2));
  return sound ? 'audio' : 'image';
}
