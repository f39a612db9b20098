import type { SpeechFormat } from '../../core/speech.ts';
import * as f from '../fields.ts';
import { readVoiceName, spokenFields, spokenNotes } from '../spoken-text.ts';
import { defaultSettings } from './settings.ts';

const dialect = 'XTTS API server';

const { language, genkey } = spokenFields;
const voiceName = f.optional(readVoiceName);

export const streamFields = {
  text: f.honoured(f.optionalText, spokenNotes.text),
  speaker_wav: f.approximated(voiceName, spokenNotes.voice),
  language,
};

export const toAudioFields = {
  ...streamFields,
  input: f.honoured(f.optionalText, 'Another name of text; wins over it.'),
  voice: f.approximated(voiceName, 'Another name of speaker_wav; wins over it.'),
  genkey,
  ...f.each(['accent', 'save_path'], f.ignored()),
  stream: f.ignored('Use /tts_stream.'),
};

const settingsFields = {
  speed: f.honoured(f.optional(f.looseNumber), 'For all later requests of all clients. Limited to 0.2 to 2.'),
  ...f.each(
    Object.keys(defaultSettings).filter((name) => name !== 'speed'),
    f.ignored('Stored, and returned by /get_tts_settings.'),
  ),
};

/** The names that the VITS API has for formats. */
const vitsFormats = new Map<string, SpeechFormat>([
  ['mp3', 'mp3'],
  ['ogg', 'opus'],
  ['opus', 'opus'],
  ['flac', 'flac'],
]);
const readFormat: f.Read<SpeechFormat> = (value) => vitsFormats.get(String(value).toLowerCase()) ?? 'wav';

export const vitsFields = {
  text: f.honoured(f.orElse(f.readText, ''), spokenNotes.text),
  id: f.honoured(f.orElse(readVoiceName, ''), 'The number of a voice in /voice/speakers, or its name.'),
  lang: f.approximated(f.orElse(f.readText, ''), spokenNotes.language),
  length: f.honoured(f.orElse(f.looseNumber, 1), 'Relative duration; limited to 0.25 to 4.'),
  format: f.approximated(f.orElse(readFormat, 'wav'), 'wav, mp3, ogg (Opus) and flac; wav for all others.'),
  ...f.each(['noise', 'noisew', 'segment_size', 'max', 'streaming'], f.ignored()),
};

export const toAudioFidelity = f.fidelityOf(dialect, 'POST /tts_to_audio, /tts_to_file', toAudioFields);
export const streamFidelity = f.fidelityOf(dialect, 'GET /tts_stream', streamFields);
export const settingsFidelity = f.fidelityOf(dialect, 'POST /set_tts_settings', settingsFields);
export const xttsFidelity = [toAudioFidelity, streamFidelity, settingsFidelity];

export const vitsFidelity = f.fidelityOf('VITS simple API', 'GET and POST /voice/vits', vitsFields);
