import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { DocumentLibrary } from '../core/documents.ts';
import type { EmbeddingService } from '../core/embedding.ts';
import type { Owner } from '../core/owner.ts';
import { fileNameOf } from '../core/person-data.ts';
import type { FileLibrary } from '../core/stored-files.ts';
import { systemTimer } from '../core/timers.ts';
import { spawnChild } from '../engines/host/child.ts';
import { extractDocument, stopExtraction } from './extraction.ts';
import { Indexer } from './indexer.ts';
import { documentLibrary } from './library.ts';
import { StoreHost } from './store-host.ts';

interface DocumentsOptions {
  readonly folder: string;
  readonly embedding: () => EmbeddingService | undefined;
  readonly files: (owner: Owner) => FileLibrary | undefined;
  /** Resolves in a turn of the queue in which no request runs or waits; the result gives it back. */
  readonly turn: (giveWay: () => void, signal: AbortSignal) => Promise<() => void>;
  readonly warn: (sentence: string) => void;
}

export type Documents = ReturnType<typeof openDocuments>;

/** Starts the process that has the collections open, and indexes in the background what is new. */
export function openDocuments({ folder, embedding, files, turn, warn }: DocumentsOptions) {
  const entry = fileURLToPath(new URL('./worker/main.js', import.meta.url));
  const store = new StoreHost({ folder, warn, entry, spawn: spawnChild, startTimer: systemTimer });
  const indexer = new Indexer({ store, embedding, turn, startTimer: systemTimer, warn });
  indexer.start();
  return {
    of: (owner: Owner): DocumentLibrary =>
      documentLibrary({
        store,
        embedding,
        now: Date.now,
        owner: fileNameOf(owner),
        files: () => files(owner),
        extract: (name, bytes, signal) => extractDocument(name, { bytes }, { signal }),
        newId: () => `vs_${randomBytes(12).toString('hex')}`,
      }),
    totals: () => store.call('totals'),
    /** Resolves when no folder is being looked through. */
    scanned: () => store.call('scanned'),
    pid: () => store.pid,
    stop: async (): Promise<void> => {
      await Promise.all([indexer.stop(), store.stop(), stopExtraction()]);
    },
  };
}
