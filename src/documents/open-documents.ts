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
import { OwnDocuments } from './library.ts';
import { StoreHost } from './store-host.ts';

interface DocumentsOptions {
  readonly folder: string;
  readonly embedding: () => EmbeddingService | undefined;
  readonly files: (owner: Owner) => FileLibrary | undefined;
  /** Resolves in a turn of the queue in which no request runs or waits; the result gives it back. */
  readonly turn: (giveWay: () => void, signal: AbortSignal) => Promise<() => void>;
  readonly warn: (sentence: string) => void;
}

/** For the metrics. */
export interface DocumentTotals {
  readonly collections: number;
  readonly files: number;
  readonly passages: number;
  /** Files that are not indexed yet. */
  readonly waiting: number;
}

export interface Documents {
  of(owner: Owner): DocumentLibrary;
  totals(): Promise<DocumentTotals>;
  /** Resolves when no folder is being looked through. */
  scanned(): Promise<void>;
  readonly pid: () => number | undefined;
  stop(): Promise<void>;
}

/** Starts the process that has the collections open, and indexes in the background what is new. */
export function openDocuments({ folder, embedding, files, turn, warn }: DocumentsOptions): Documents {
  const entry = fileURLToPath(new URL('./worker/main.js', import.meta.url));
  const store = new StoreHost({ folder, warn, entry, spawn: spawnChild, startTimer: systemTimer });
  const indexer = new Indexer({ store, embedding, turn, startTimer: systemTimer, warn });
  indexer.start();
  return {
    of: (owner) =>
      new OwnDocuments({
        ...{ store, embedding, now: Date.now },
        owner: fileNameOf(owner),
        files: () => files(owner),
        extract: (name, bytes, signal) => extractDocument(name, { bytes }, { signal }),
        newId: () => `vs_${randomBytes(12).toString('hex')}`,
      }),
    totals: () => store.call('totals'),
    scanned: () => store.call('scanned'),
    pid: () => store.pid,
    stop: async () => {
      await Promise.all([indexer.stop(), store.stop(), stopExtraction()]);
    },
  };
}
