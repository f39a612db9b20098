import {
  type Attributes,
  type Collection,
  type DocumentHit,
  type DocumentLibrary,
  type Passage,
  passageTitle,
  passageUrl,
} from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import type { LibrariesOf } from '../../core/owner.ts';
import type { Source } from '../../core/server-tools.ts';
import type { FileLibrary } from '../../core/stored-files.ts';
import type { Call } from '../../http/call.ts';

/** The collections and uploaded files of the server; absent ones are not enabled. */
export interface DocumentServices {
  readonly documents?: LibrariesOf<DocumentLibrary> | undefined;
  readonly files?: LibrariesOf<FileLibrary> | undefined;
  /** Of this server, as the client of a call reaches it; empty if that is not known. */
  readonly addressFor?: ((call: Pick<Call, 'headers' | 'encrypted'>) => string) | undefined;
}

/** The collections of the sender of a request. A key needs the scope for them in every API. */
export function documentsOf(call: Pick<Call, 'key'>, { documents }: DocumentServices): DocumentLibrary {
  return allowed(call, documents, 'The use of collections').of(call);
}

/** The uploaded files of the sender of a request. */
export function filesOf(call: Pick<Call, 'key'>, { files }: DocumentServices): FileLibrary {
  return allowed(call, files, 'The use of uploaded files').of(call);
}

/** The collections and files of one call, which fail where it may not use them. */
export interface OwnDocuments {
  readonly library: () => DocumentLibrary;
  readonly files: () => FileLibrary;
  /** Text of a file that a request brings along, which needs no scope. */
  readonly extract: DocumentLibrary['extract'];
  /** As a chat reads and cites it. Clients of other origins open its address. */
  readonly sourceOf: (hit: DocumentHit) => Source;
}

export function ownDocuments(
  call: Pick<Call, 'key'> & Partial<Pick<Call, 'headers' | 'encrypted'>>,
  services: DocumentServices,
): OwnDocuments {
  const address = services.addressFor?.({ headers: {}, ...call }) ?? '';
  return {
    sourceOf: (hit) => sourceOf(hit, address),
    library: () => documentsOf(call, services),
    files: () => filesOf(call, services),
    extract: (name, bytes, signal) =>
      enabled(services.documents, `The file ${name}`).of(call).extract(name, bytes, signal),
  };
}

export function mayUseDocuments({ key }: Pick<Call, 'key'>): boolean {
  return key?.scopes.includes('documents') ?? true;
}

function allowed<Value>(call: Pick<Call, 'key'>, value: Value | undefined, feature: string): Value {
  if (!mayUseDocuments(call)) throw new AppError('scope-missing', { scope: 'documents' });
  return enabled(value, feature);
}

function enabled<Value>(value: Value | undefined, feature: string): Value {
  if (value !== undefined) return value;
  throw new AppError('unsupported', { feature, instead: 'this server was started with --nodocuments' });
}

function sourceOf({ passage, score }: DocumentHit, address: string): Source {
  const { id, text, file, name } = passage;
  const place = { type: 'passage', file, name, score, attributes: passageAttributes(passage) } as const;
  return { url: `${address}${passageUrl(id)}`, title: passageTitle(passage), text, location: place };
}

/** By id or name. */
export async function collectionOf(library: DocumentLibrary, name: string, what = 'collection'): Promise<Collection> {
  const collection = await library.collection(name);
  if (!collection) throw new AppError('not-stored', { what, id: name });
  return collection;
}

/** Page and heading have no field of their own; clients pass attributes through. Those of the client come first. */
export function passageAttributes({ page, headings, attributes }: Passage): Attributes {
  return {
    ...(page !== undefined && { page }),
    ...(headings.length > 0 && { heading: headings.join(' > ') }),
    ...attributes,
  };
}
