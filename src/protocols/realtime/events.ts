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

type Told<Type extends string, Data = object> = { readonly type: Type } & Readonly<Data>;

/** Where in a response something belongs. */
export type OutputPlace = Readonly<{ response_id: string; item_id: string; output_index: number }>;
/** A part of an item. */
type PartPlace = { item_id: string; content_index: number };
type InPart = OutputPlace & PartPlace;
type AboutItem = { previous_item_id: string | null; item_id: string };
type Ignored = { ignored: readonly string[] };
type Transcription = 'conversation.item.input_audio_transcription';

/** What the server tells a client, by the names of the newer version. Items, settings and errors get their form when they are encoded. */
export type ServerEvent =
  | Told<'session.created' | 'session.updated', { session: SessionSettings } & Ignored>
  | Told<'conversation.created'>
  /** `about`: the id of the client's event. */
  | Told<'error', { error: AppError; about: string | undefined }>
  | Told<'conversation.item.added' | 'conversation.item.done', { previous_item_id: string | null; item: Item }>
  | Told<'conversation.item.retrieved', { item: Item }>
  | Told<'conversation.item.deleted', { item_id: string }>
  | Told<'conversation.item.truncated', { audio_end_ms: number } & PartPlace>
  | Told<'input_audio_buffer.cleared'>
  | Told<'input_audio_buffer.committed', AboutItem>
  | Told<'input_audio_buffer.speech_started', { audio_start_ms: number; item_id: string }>
  | Told<'input_audio_buffer.speech_stopped', { audio_end_ms: number; item_id: string }>
  | Told<`${Transcription}.delta`, { delta: string } & PartPlace>
  | Told<`${Transcription}.completed`, { transcript: string; usage: object } & PartPlace>
  | Told<`${Transcription}.failed`, { error: AppError } & PartPlace>
  | Told<'response.created' | 'response.done', { response: ResponseState } & Ignored>
  | Told<'response.output_item.added' | 'response.output_item.done', { item: Item } & Omit<OutputPlace, 'item_id'>>
  | Told<'response.content_part.added' | 'response.content_part.done', { part: object } & InPart>
  | Told<'response.output_text.delta' | 'response.output_audio_transcript.delta', { delta: string } & InPart>
  | Told<'response.output_text.done', { text: string } & InPart>
  | Told<'response.output_audio_transcript.done', { transcript: string } & InPart>
  /** In the output format. */
  | Told<'response.output_audio.delta', { delta: Uint8Array } & InPart>
  | Told<'response.output_audio.done', InPart>
  | Told<'response.function_call_arguments.delta', { call_id: string; delta: string } & OutputPlace>
  | Told<'response.function_call_arguments.done', { call_id: string; name: string; arguments: string } & OutputPlace>;
