import { languageCode } from '../core/languages.ts';
import type { TranscriptionRequest } from '../core/transcription.ts';
import { readGenkey } from './controls/table.ts';
import { looseFlag, looseNumber } from './fields/loose.ts';
import { clamp, described, optional, orElse, type Read, readText, wrong } from './fields/readers.ts';
import { textSchema } from './fields/schemas.ts';
import { approximated, type Fields, honoured } from './fields/table.ts';
import { readInlineRecording } from './recording.ts';

const taker = 'Passed on to recognisers that take it (--whispermodel); where it had no effect, a warning tells that.';

const readTemperature: Read<number> = described(
  { type: 'number', default: 0 },
  orElse((value, path) => clamp(looseNumber(value, path), 0, 1), 0),
);

/** What the dialects have in common. Forms have nothing but texts, so that numbers and switches come as such. */
export const recordingFields = {
  file: honoured(
    readInlineRecording,
    'A file of a form, or base64 (also as a data URL). WAV, MP3, FLAC, Ogg and WebM, known by their bytes; AAC and M4A where ffmpeg is installed. Up to 3 hours.',
  ),
  audio_data: honoured(readInlineRecording, 'Another name of file.'),
  prompt: approximated(orElse(readText, ''), taker),
  temperature: approximated(readTemperature, `Moved into 0 to 1. ${taker}`),
  suppress_non_speech: approximated(orElse(looseFlag, false), 'What is no speech is mostly left out anyway.'),
  genkey: honoured(readGenkey),
};

const readLanguage: Read<string | undefined> = described(
  textSchema,
  optional((value, path) => {
    const text = readText(value, path).trim();
    if (text === '' || text.toLowerCase() === 'auto') return undefined;
    const code = languageCode(text);
    if (code === undefined) throw wrong(path, 'auto, or a language by its code of two letters or its English name');
    return code;
  }),
);

export const languageFields = {
  language: honoured(
    readLanguage,
    'A code, an English name or auto. Refused where the recogniser does not know it; the built-in one hears English.',
  ),
  langcode: honoured(readLanguage, 'Another name of language, which it wins over.'),
};

/** The part of the neutral request that all fields have together. */
export function wishesOf(
  fields: Fields<typeof recordingFields> & Partial<Fields<typeof languageFields>>,
): Omit<TranscriptionRequest, 'recording' | 'translate' | 'words'> {
  return {
    language: fields.langcode ?? fields.language,
    prompt: fields.prompt,
    temperature: fields.temperature,
    suppressNonSpeech: fields.suppress_non_speech,
  };
}
