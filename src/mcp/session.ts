import type { CallOptions, CallProgress, ServedCall, ServedResult, ServedTool } from '../core/tool-servers.ts';
import type { ServerConfig } from './config.ts';

export type { CallProgress };

/** One connection to a tool server, from its greeting until it is lost or closed. */
export interface Session {
  tools(): Promise<readonly ServedTool[]>;
  /** Fails with a `ToolCallError` that the server gave, or with whatever else went wrong. */
  call(call: ServedCall, options: CallOptions): Promise<ServedResult>;
  /** Fails with `SessionLost` where the server is known to be gone, and not where it is merely slow. */
  check(): Promise<void>;
  /** Bounded in time, and never fails. */
  close(): Promise<void>;
}

export interface SessionEvents {
  /** It is over, and not because somebody closed it. */
  lost(reason: string): void;
  toolsChanged(): void;
  /** Something went wrong on the way that may mean that it is over: worth a check. */
  doubted(): void;
  /** The server tells something to people. */
  said(level: string, text: string): void;
}

/** Connects and greets; fails with a sentence for people. */
export type OpenSession = (config: ServerConfig, events: SessionEvents, signal: AbortSignal) => Promise<Session>;

/** The server is gone, or does not know this session any more. */
export class SessionLost extends Error {
  override readonly name = 'SessionLost';

  constructor(
    reason: string,
    /** Nothing of the request was taken in: it can be sent again. */
    readonly untouched = false,
  ) {
    super(reason);
  }
}
