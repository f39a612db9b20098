import { AppError } from '../core/errors.ts';
import type { SpeechRequest, SpeechService } from '../core/speech.ts';
import type { TaskServices } from '../core/task-services.ts';
import { wrong } from './fields/readers.ts';
import type { SpokenFields } from './spoken-fields.ts';
import { chooseVoice } from './voice-names.ts';
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
export function speechOf({ others }: { readonly others?: TaskServices | undefined }): SpeechService {
  if (others?.speech) return others.speech;
  throw new AppError('model-missing', { capability: 'text-to-speech', flag: '--ttsmodel FILE' });
}

/** Whatever the fields are called in the family that read them. */
export async function spokenText(fields: SpokenFields, service: SpeechService): Promise<ReadSpokenText> {
  const field = fields.input === undefined && fields.text !== undefined ? 'text' : 'input';
  const sent = fields[field]?.trim() ?? '';
  const told = fields.instructions || fields.instruction || '';
  const { text, instruction } = told === '' ? splitInstruction(sent) : { text: sent, instruction: told };
  if (text === '') throw wrong(field, 'a text that is to be spoken');
  const words = wordCount(text);
  if (words > service.maxWords) {
    throw wrong(field, `at most ${service.maxWords} words long (--ttsmaxlen), and this is ${words}`);
  }
  const { voice, notes } = chooseVoice(fields.voice ?? fields.speaker_wav ?? '', await service.voices());
  const language = fields.language || fields.lang_code || '';
  return { spoken: { text, instruction, voice, language, seed: fields.seed ?? -1 }, notes };
}

/** `[whispering] Good night.` */
function splitInstruction(sent: string): { readonly text: string; readonly instruction: string } {
  const [, instruction = '', text = sent] = /^\[([^\]\n]{1,500})\]\s*(\S.*)$/s.exec(sent) ?? [];
  return { text, instruction };
}
