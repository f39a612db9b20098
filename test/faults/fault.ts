import type { LiveServer } from '../live/server.ts';

/** The kinds of service whose return is measured after a fault. */
export type ServiceKind = 'text' | 'embedding' | 'image' | 'speech' | 'transcription' | 'tools' | 'storage';

/** A server under test. */
export interface Subject {
  readonly server: LiveServer;
  /** Resolves if a request of this kind succeeds; rejects with the reason if it does not yet. */
  serves(kind: ServiceKind): Promise<void>;
  /** Rejects if anything that was confirmed to a client is lost. */
  intact(): Promise<void>;
}

/** One fault: a row of the table. */
export interface Fault<Setting extends Subject = Subject> {
  readonly name: string;
  /** What must be served again after it. */
  readonly kind: ServiceKind;
  /** Part of the short run. */
  readonly short?: boolean;
  /** Why this machine cannot try it; undefined if it can. */
  readonly cannot?: () => string | undefined;
  /**
   * Injects the fault, checks what clients under way see, and ends the fault. Returns another server if that is the one to
   * check, such as one that was started on damaged files.
   */
  readonly inject: (setting: Setting) => Promise<Subject | undefined> | Promise<void>;
}

export interface FaultGroup<Setting extends Subject = Subject> {
  readonly name: string;
  /** Starts what the rows share. */
  readonly open: () => Promise<Setting & { close?(): Promise<void> }>;
  readonly rows: readonly Fault<Setting>[];
}

/** Infers the type of the rows. */
export const faultGroup = <Setting extends Subject>(group: FaultGroup<Setting>): FaultGroup =>
  group as unknown as FaultGroup;
