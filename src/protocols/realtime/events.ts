import type { AppError } from '../../core/errors.ts';
import type { Usage } from '../../core/events.ts';
import type { JsonObject } from '../../http/body.ts';
import type { Item } from './conversation.ts';
import type { ResponseSettings, SessionSettings } from './settings.ts';

export type ResponseEnd =
  | { readonly type: 'completed' }
  /** `turn_detected`: the user began to speak. */
  | { readonly type: 'cancelled'; readonly reason: 'turn_detected' | 'client_cancelled' }
  | { readonly type: 'incomplete'; readonly reason: 'max_output_tokens' }
  | { readonly type: 'failed'; readonly error: AppError };

export interface ResponseState {
  readonly id: string;
  readonly settings: ResponseSettings;
  /** Undefined if its answer is not part of the conversation. */
  readonly conversationId: string | undefined;
  readonly metadata: JsonObject | null;
  readonly output: readonly Item[];
  readonly end: ResponseEnd | undefined;
  readonly usage: Usage | undefined;
}

/** Where in a response something belongs. */
export interface OutputPlace {
  readonly responseId: string;
  readonly itemId: string;
  readonly outputIndex: number;
}

/** What the server tells a client, before it has the form of a version of the protocol. */
export type ServerEvent =
  | { readonly type: 'session-created'; readonly settings: SessionSettings }
  | { readonly type: 'session-updated'; readonly settings: SessionSettings; readonly ignored: readonly string[] }
  | { readonly type: 'conversation-created' }
  | { readonly type: 'error'; readonly error: AppError; readonly eventId: string | undefined }
  | { readonly type: 'item-added' | 'item-done'; readonly item: Item; readonly previous: string | null }
  | { readonly type: 'item-retrieved'; readonly item: Item }
  | { readonly type: 'item-deleted'; readonly itemId: string }
  | {
      readonly type: 'item-truncated';
      readonly itemId: string;
      readonly contentIndex: number;
      readonly audioEndMs: number;
    }
  | { readonly type: 'buffer-cleared' }
  | { readonly type: 'buffer-committed'; readonly itemId: string; readonly previous: string | null }
  | { readonly type: 'speech-started' | 'speech-stopped'; readonly itemId: string; readonly milliseconds: number }
  | {
      readonly type: 'transcript-delta';
      readonly itemId: string;
      readonly contentIndex: number;
      readonly delta: string;
    }
  | {
      readonly type: 'transcript-done';
      readonly itemId: string;
      readonly contentIndex: number;
      readonly transcript: string;
      readonly seconds: number;
    }
  | {
      readonly type: 'transcript-failed';
      readonly itemId: string;
      readonly contentIndex: number;
      readonly error: AppError;
    }
  | {
      readonly type: 'response-created' | 'response-done';
      readonly response: ResponseState;
      readonly ignored: readonly string[];
    }
  | ({ readonly type: 'output-added' | 'output-done'; readonly item: Item } & OutputPlace)
  | ({
      readonly type: 'part-added' | 'part-done';
      readonly kind: 'text' | 'audio';
      readonly text: string;
    } & OutputPlace)
  | ({ readonly type: 'text-delta' | 'speech-text-delta'; readonly delta: string } & OutputPlace)
  | ({ readonly type: 'text-done' | 'speech-text-done'; readonly text: string } & OutputPlace)
  /** In the output format. */
  | ({ readonly type: 'audio-delta'; readonly bytes: Uint8Array } & OutputPlace)
  | ({ readonly type: 'audio-done' } & OutputPlace)
  | ({ readonly type: 'arguments-delta'; readonly callId: string; readonly delta: string } & OutputPlace)
  | ({
      readonly type: 'arguments-done';
      readonly callId: string;
      readonly name: string;
      readonly json: string;
    } & OutputPlace);
