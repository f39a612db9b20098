import type { Tool } from '../../chat/messages.ts';
import type { ToolChoice } from '../../chat/request.ts';

export const audioFormats = ['pcm16', 'g711_ulaw', 'g711_alaw'] as const;
export type AudioFormat = (typeof audioFormats)[number];

/** When a turn of the user begins and ends. */
export interface TurnDetection {
  readonly type: 'server_vad' | 'semantic_vad';
  readonly threshold: number;
  readonly prefixPaddingMs: number;
  readonly silenceMs: number;
  readonly createResponse: boolean;
  readonly interruptResponse: boolean;
}

export interface TranscriptionSettings {
  readonly model: string;
  readonly language: string | undefined;
  readonly prompt: string;
}

/** What a response is made with; `response.create` may change it for one response. */
export interface ResponseSettings {
  readonly instructions: string;
  readonly modality: 'audio' | 'text';
  readonly voice: string;
  readonly speed: number;
  readonly outputFormat: AudioFormat;
  readonly tools: readonly Tool[];
  readonly toolChoice: ToolChoice;
  readonly parallelToolCalls: boolean;
  readonly temperature: number | undefined;
  readonly maxTokens: number | 'inf';
  readonly effort: string | undefined;
}

export interface SessionSettings extends ResponseSettings {
  /** A transcription session hears, and never answers. */
  readonly type: 'realtime' | 'transcription';
  readonly model: string;
  readonly inputFormat: AudioFormat;
  /** Null: speech is transcribed for the model, and no events tell it. */
  readonly transcription: TranscriptionSettings | null;
  /** Null: the client commits the audio. */
  readonly turnDetection: TurnDetection | null;
}

/** The members that an event sets. */
export type SettingsChange = { readonly [Name in keyof SessionSettings]?: SessionSettings[Name] | undefined };
export type ResponseChange = { readonly [Name in keyof ResponseSettings]?: ResponseSettings[Name] | undefined };

export const defaultTurnDetection: TurnDetection = {
  type: 'server_vad',
  threshold: 0.5,
  prefixPaddingMs: 300,
  silenceMs: 500,
  createResponse: true,
  interruptResponse: true,
};

export function initialSettings(model: string, type: SessionSettings['type']): SessionSettings {
  return {
    type,
    model,
    instructions: '',
    modality: 'audio',
    voice: 'alloy',
    speed: 1,
    inputFormat: 'pcm16',
    outputFormat: 'pcm16',
    transcription: type === 'transcription' ? { model: '', language: undefined, prompt: '' } : null,
    turnDetection: defaultTurnDetection,
    tools: [],
    toolChoice: { type: 'auto' },
    parallelToolCalls: true,
    temperature: undefined,
    maxTokens: 'inf',
    effort: undefined,
  };
}

/** Members that the change does not set stay as they are. */
export function changed<Settings extends ResponseSettings>(
  settings: Settings,
  change: { readonly [Name in keyof Settings]?: Settings[Name] | undefined },
): Settings {
  const set = Object.entries(change).filter(([, value]) => value !== undefined);
  return { ...settings, ...Object.fromEntries(set) };
}
