import type { SpeechFormat } from '../../core/speech.ts';
import { looseNumber } from '../fields/loose.ts';
import { optional, optionalText, orElse, type Read, readText } from '../fields/readers.ts';
import { approximated, each, fidelityOf, honoured, ignored } from '../fields/table.ts';
import { readVoiceName, spokenFields, spokenNotes } from '../spoken-text.ts';
import { defaultSettings } from './settings.ts';

const dialect = 'XTTS API server';

const { language, genkey } = spokenFields;
const voiceName = optional(readVoiceName);

export const streamFields = {
  text: honoured(optionalText, spokenNotes.text),
  speaker_wav: approximated(voiceName, spokenNotes.voice),
  language,
};

export const toAudioFields = {
  ...streamFields,
  input: honoured(optionalText, 'Another name of text; wins over it.'),
  voice: approximated(voiceName, 'Another name of speaker_wav; wins over it.'),
  genkey,
  ...each(['accent', 'save_path'], ignored()),
  stream: ignored('Use /tts_stream.'),
};

const settingsFields = {
  speed: honoured(optional(looseNumber), 'For all later requests of all clients. Limited to 0.2 to 2.'),
  ...each(
    Object.keys(defaultSettings).filter((name) => name !== 'speed'),
    ignored('Stored, and returned by /get_tts_settings.'),
  ),
};

/** The names that the VITS API has for formats. */
const vitsFormats = new Map<string, SpeechFormat>([
  ['mp3', 'mp3'],
  ['ogg', 'opus'],
  ['opus', 'opus'],
  ['flac', 'flac'],
]);
const readFormat: Read<SpeechFormat> = (value) => vitsFormats.get(String(value).toLowerCase()) ?? 'wav';

export const vitsFields = {
  text: honoured(orElse(readText, ''), spokenNotes.text),
  id: honoured(orElse(readVoiceName, ''), 'The number of a voice in /voice/speakers, or its name.'),
  lang: approximated(orElse(readText, ''), spokenNotes.language),
  length: honoured(orElse(looseNumber, 1), 'Relative duration; limited to 0.25 to 4.'),
  format: approximated(orElse(readFormat, 'wav'), 'wav, mp3, ogg (Opus) and flac; wav for all others.'),
  ...each(['noise', 'noisew', 'segment_size', 'max', 'streaming'], ignored()),
};

export const toAudioFidelity = fidelityOf(dialect, 'POST /tts_to_audio, /tts_to_file', toAudioFields);
export const streamFidelity = fidelityOf(dialect, 'GET /tts_stream', streamFields);
export const settingsFidelity = fidelityOf(dialect, 'POST /set_tts_settings', settingsFields);
export const xttsFidelity = [toAudioFidelity, streamFidelity, settingsFidelity];

export const vitsFidelity = fidelityOf('VITS simple API', 'GET and POST /voice/vits', vitsFields);
