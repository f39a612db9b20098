import type { Collection, DocumentLibrary } from '../../core/documents.ts';
import { AppError } from '../../core/errors.ts';
import type { LibrariesOf } from '../../core/owner.ts';
import type { FileLibrary } from '../../core/stored-files.ts';
import type { Call } from '../../http/call.ts';

/** The collections and uploaded files of the server; absent ones are not enabled. */
export interface DocumentServices {
  readonly documents?: LibrariesOf<DocumentLibrary> | undefined;
  readonly files?: LibrariesOf<FileLibrary> | undefined;
}

/** The collections of whoever sends a request. A key needs the scope for them in every API. */
export function documentsOf(call: Pick<Call, 'key'>, { documents }: DocumentServices): DocumentLibrary {
  return allowed(call, documents, 'Collections of documents').of(call);
}

/** The uploaded files of whoever sends a request. */
export function filesOf(call: Pick<Call, 'key'>, { files }: DocumentServices): FileLibrary {
  return allowed(call, files, 'Uploaded files').of(call);
}

export function mayUseDocuments({ key }: Pick<Call, 'key'>): boolean {
  return key?.scopes.includes('documents') ?? true;
}

function allowed<Value>(call: Pick<Call, 'key'>, value: Value | undefined, feature: string): Value {
  if (!mayUseDocuments(call)) throw new AppError('scope-missing', { scope: 'documents' });
  if (value !== undefined) return value;
  throw new AppError('unsupported', { feature, instead: 'this server was started with --nodocuments' });
}

/** By id or name. */
export async function collectionOf(library: DocumentLibrary, name: string): Promise<Collection> {
  const collection = await library.collection(name);
  if (!collection) throw new AppError('not-stored', { what: 'collection', id: name });
  return collection;
}

/** The page that shows a passage in its document. */
export function passageUrl(id: string): string {
  return `/documents/${encodeURIComponent(id)}`;
}
