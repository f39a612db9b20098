import type { SpeechFormat } from '../../core/speech.ts';
import { looseNumber } from '../fields/loose.ts';
import { orElse, type Read, readText } from '../fields/readers.ts';
import { approximated, each, fidelityOf, honoured, ignored } from '../fields/table.ts';
import { readVoiceName, spokenNotes } from '../spoken-text.ts';

/** By the names that this API has for them. */
const formats: Readonly<Record<string, SpeechFormat>> = {
  wav: 'wav',
  mp3: 'mp3',
  ogg: 'opus',
  opus: 'opus',
  flac: 'flac',
};

const readFormat: Read<SpeechFormat> = (value) => {
  const name = String(value).toLowerCase();
  return (Object.hasOwn(formats, name) ? formats[name] : undefined) ?? 'wav';
};

export const vitsFields = {
  text: honoured(orElse(readText, ''), spokenNotes.text),
  id: honoured(orElse(readVoiceName, ''), 'The number of a voice in /voice/speakers, or its name.'),
  lang: approximated(orElse(readText, ''), spokenNotes.language),
  length: honoured(orElse(looseNumber, 1), 'How much longer it takes; moved into 0.25 to 4.'),
  format: approximated(orElse(readFormat, 'wav'), 'wav, mp3, ogg (Opus) and flac; wav for all others.'),
  ...each(['noise', 'noisew', 'segment_size', 'max', 'streaming'], ignored()),
};

export const vitsFidelity = fidelityOf('VITS simple API', 'GET and POST /voice/vits', vitsFields);
