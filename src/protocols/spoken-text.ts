import { AppError } from '../core/errors.ts';
import type { OtherServices } from '../core/other-services.ts';
import type { SpeechRequest, SpeechService } from '../core/speech.ts';
import type { JsonObject } from '../http/body.ts';
import { readInteger, readText } from './controls/fields.ts';
import { chooseVoice, readVoiceName } from './voice-names.ts';
import { wordCount } from './word-count.ts';

/** Slowest and quickest. */
export const paces = { least: 0.25, most: 4 } as const;

/** What is to be spoken, whatever the form in which it goes out. */
export type SpokenText = Omit<SpeechRequest, 'format' | 'streamed' | 'speed'>;

export interface ReadSpokenText {
  readonly spoken: SpokenText;
  /** What cannot be done, as sentences. */
  readonly notes: readonly string[];
}

/** Whoever speaks, or a clear refusal. */
export function speechOf({ others }: { readonly others?: OtherServices | undefined }): SpeechService {
  if (others?.speech) return others.speech;
  throw new AppError('model-missing', { capability: 'text-to-speech', flag: '--ttsmodel FILE' });
}

/** All families name these fields alike, or one of two ways. */
export async function readSpokenText(body: JsonObject, service: SpeechService): Promise<ReadSpokenText> {
  const field = body.input === undefined && body.text !== undefined ? 'text' : 'input';
  const sent = readText(body, field).trim();
  const told = readText(body, 'instructions') || readText(body, 'instruction');
  const { text, instruction } = told === '' ? splitInstruction(sent) : { text: sent, instruction: told };
  if (text === '') throw new AppError('invalid-field', { field, expected: 'a text that is to be spoken' });
  const words = wordCount(text);
  if (words > service.maxWords) {
    const expected = `at most ${service.maxWords} words long (--ttsmaxlen), and this is ${words}`;
    throw new AppError('invalid-field', { field, expected });
  }
  const voiceField = body.voice === undefined && body.speaker_wav !== undefined ? 'speaker_wav' : 'voice';
  const name = readVoiceName(body[voiceField], voiceField);
  const { voice, notes } = chooseVoice(name, await service.voices());
  const language = readText(body, 'language') || readText(body, 'lang_code');
  return { spoken: { text, instruction, voice, language, seed: readInteger(body.seed, -1) }, notes };
}

/** `[whispering] Good night.` */
function splitInstruction(sent: string): { readonly text: string; readonly instruction: string } {
  const [, instruction = '', text = sent] = /^\[([^\]\n]{1,500})\]\s*(\S.*)$/s.exec(sent) ?? [];
  return { text, instruction };
}
