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
  readonly response_id: string;
  readonly item_id: string;
  readonly output_index: number;
}

/** A part of an item. */
interface PartPlace {
  readonly item_id: string;
  readonly content_index: number;
}

type InPart = OutputPlace & PartPlace;
type Transcription = 'conversation.item.input_audio_transcription';

/** What the server tells a client, by the names of the newer version. Items, settings and errors get their form when they are encoded. */
export type ServerEvent =
  | {
      readonly type: 'session.created' | 'session.updated';
      readonly session: SessionSettings;
      readonly ignored: readonly string[];
    }
  | { readonly type: 'conversation.created' }
  /** `about`: the id of the client's event. */
  | { readonly type: 'error'; readonly error: AppError; readonly about: string | undefined }
  | {
      readonly type: 'conversation.item.added' | 'conversation.item.done';
      readonly previous_item_id: string | null;
      readonly item: Item;
    }
  | { readonly type: 'conversation.item.retrieved'; readonly item: Item }
  | { readonly type: 'conversation.item.deleted'; readonly item_id: string }
  | ({ readonly type: 'conversation.item.truncated'; readonly audio_end_ms: number } & PartPlace)
  | { readonly type: 'input_audio_buffer.cleared' }
  | {
      readonly type: 'input_audio_buffer.committed';
      readonly previous_item_id: string | null;
      readonly item_id: string;
    }
  | { readonly type: 'input_audio_buffer.speech_started'; readonly audio_start_ms: number; readonly item_id: string }
  | { readonly type: 'input_audio_buffer.speech_stopped'; readonly audio_end_ms: number; readonly item_id: string }
  | ({ readonly type: `${Transcription}.delta`; readonly delta: string } & PartPlace)
  | ({ readonly type: `${Transcription}.completed`; readonly transcript: string; readonly usage: object } & PartPlace)
  | ({ readonly type: `${Transcription}.failed`; readonly error: AppError } & PartPlace)
  | {
      readonly type: 'response.created' | 'response.done';
      readonly response: ResponseState;
      readonly ignored: readonly string[];
    }
  | ({
      readonly type: 'response.output_item.added' | 'response.output_item.done';
      readonly item: Item;
    } & Omit<OutputPlace, 'item_id'>)
  | ({ readonly type: 'response.content_part.added' | 'response.content_part.done'; readonly part: object } & InPart)
  | ({
      readonly type: 'response.output_text.delta' | 'response.output_audio_transcript.delta';
      readonly delta: string;
    } & InPart)
  | ({ readonly type: 'response.output_text.done'; readonly text: string } & InPart)
  | ({ readonly type: 'response.output_audio_transcript.done'; readonly transcript: string } & InPart)
  /** In the output format. */
  | ({ readonly type: 'response.output_audio.delta'; readonly delta: Uint8Array } & InPart)
  | ({ readonly type: 'response.output_audio.done' } & InPart)
  | ({
      readonly type: 'response.function_call_arguments.delta';
      readonly call_id: string;
      readonly delta: string;
    } & OutputPlace)
  | ({
      readonly type: 'response.function_call_arguments.done';
      readonly call_id: string;
      readonly name: string;
      readonly arguments: string;
    } & OutputPlace);
