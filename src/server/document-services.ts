import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Settings } from '../config/flags.ts';
import { unlessAborted } from '../core/abort.ts';
import { ownFolder } from '../core/data-folder.ts';
import type { DocumentLibrary, DocumentTotals } from '../core/documents.ts';
import type { EmbeddingService } from '../core/embedding.ts';
import { Libraries, type Owner, senderOf } from '../core/owner.ts';
import type { Documents } from '../documents/open-documents.ts';
import type { WorkKind } from '../queue/queue.ts';
import type { RequestQueue } from '../queue/request-queue.ts';
import type { ClientServices } from './client-services.ts';
import { lazily } from './lazily.ts';

/** What is known once the app is built. */
interface DocumentUse {
  readonly embedding: () => EmbeddingService | undefined;
  readonly requestQueue: Pick<RequestQueue, 'queue'>;
}

export type DocumentServices = ReturnType<typeof documentServices>;

export function documentFolder({ documentsdir }: Pick<Settings, 'documentsdir'>): string {
  return documentsdir === '' ? ownFolder('documents') : resolve(documentsdir);
}

const readingWork: WorkKind = { name: 'document', cost: 1, initialEstimateSeconds: 1, hasShare: true };

/** Nothing is loaded or started before the first use: most servers never have a collection. */
export function documentServices(folder: string, clients: () => ClientServices, warn: (sentence: string) => void) {
  let use: DocumentUse | undefined;
  let opened: Promise<Documents> | undefined;
  const open = (): Promise<Documents> => {
    opened ??= import('../documents/open-documents.ts').then(({ openDocuments }) =>
      openDocuments({
        folder,
        warn,
        embedding: () => use?.embedding(),
        files: (owner) => clients().files?.of(senderOf(owner)),
        turn: async (giveWay, signal) => {
          if (!use) return () => undefined;
          const entry = use.requestQueue.queue.enter({
            client: 'documents',
            lane: 'documents',
            kind: readingWork,
            giveWay,
          });
          await unlessAborted(entry.turn, signal).catch((error: unknown) => {
            entry.leave();
            throw error;
          });
          return entry.leave;
        },
      }),
    );
    return opened;
  };
  return {
    clients: {
      documents: new Libraries((owner) =>
        lazyLibrary(owner, open, async () => opened !== undefined || hasCollections(folder)),
      ),
    },
    /** Before the first request. */
    bind: (own: DocumentUse): void => {
      use = own;
    },
    /** Goes on with what an earlier server has not indexed, and watches folders, if there are collections. */
    resume: async (): Promise<void> => {
      if (await hasCollections(folder)) await open();
    },
    /** Undefined unless they are open. */
    totals: async (): Promise<DocumentTotals | undefined> => (await opened)?.totals(),
    stop: async (): Promise<void> => (await opened)?.stop(),
  };
}

/** Opens the documents for the first call that needs them. Without any collection, there is nothing to list. */
function lazyLibrary(owner: Owner, open: () => Promise<Documents>, hasAny: () => Promise<boolean>): DocumentLibrary {
  const empty: Partial<Record<keyof DocumentLibrary, () => unknown>> = {
    collections: () => [],
    collection: () => undefined,
    passage: () => undefined,
    forgetFile: () => undefined,
  };
  let library: DocumentLibrary | undefined;
  return lazily(async (method) => {
    if (!library && method in empty && !(await hasAny())) return empty as Partial<DocumentLibrary>;
    library ??= (await open()).of(owner);
    return library;
  });
}

async function hasCollections(folder: string): Promise<boolean> {
  const owners = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const owner of owners) {
    if (!owner.isDirectory()) continue;
    const names = await readdir(join(folder, owner.name)).catch(() => []);
    if (names.some((name) => name.endsWith('.collection'))) return true;
  }
  return false;
}
