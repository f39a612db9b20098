import type { ClientId } from './clients.ts';
import type { Sender } from './owner.ts';
import type { PromptProgress, QueueStatus } from './request.ts';
import type { RequestObserver } from './request-observer.ts';
import type { SentFields } from './sent-fields.ts';

/** The client side of a request: decides its turn, and who may poll or abort it. */
export interface RequestContext {
  readonly genkey: string;
  /** For fairness between clients; not chosen by the client. */
  readonly client: string;
  /** The program that sent it, if its headers tell. */
  readonly program?: ClientId | undefined;
  /** For fairness within a client; by default the genkey. */
  readonly part?: string;
  /** Share of the turns of its client; 1 by default. */
  readonly weight?: number;
  readonly signal: AbortSignal;
  /** Orders the ranked waiting requests of one client, lower first. */
  readonly rank?: number;
  /** Continues after a disconnect; its result is polled by its key. */
  readonly survivesDisconnect?: boolean;
  /** Part of a request that is in the queue already: not refused if the queue is full. */
  readonly admitted?: boolean;
  /**
   * Work of the lowest weight, which no client waits for: begins while nothing else runs or waits, on any engine, or in its share of the time.
   * Called when it cannot go on: abort it then, and send the rest again.
   */
  readonly giveWay?: () => void;
  /** Called once when the request is queued, with functions that return its status and how far its prompt is processed. */
  readonly onQueued?: (standing: () => QueueStatus | undefined, reading?: () => PromptProgress | undefined) => void;
  /** The `x-request-id` of the request that it belongs to. */
  readonly requestId?: string;
  /** Whose documents the tools of this server may search for it; undefined for none. */
  readonly reader?: Sender;
  /** Whose memories its chats may use. */
  readonly sender?: Sender;
  /** Follows the request that it belongs to. */
  readonly watch?: RequestObserver | undefined;
  /** For backends to which some fields are passed on as they are. */
  readonly sent?: SentFields;
}
