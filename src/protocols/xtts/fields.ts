import { looseNumber } from '../fields/loose.ts';
import { optional, optionalText } from '../fields/readers.ts';
import { approximated, each, fidelityOf, honoured, ignored } from '../fields/table.ts';
import { readVoiceName, spokenFields, spokenNotes } from '../spoken-text.ts';

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
  input: honoured(optionalText, 'Another name of text, which wins.'),
  voice: approximated(voiceName, 'Another name of speaker_wav, which wins.'),
  genkey,
  ...each(['accent', 'save_path'], ignored()),
  stream: ignored('Use /tts_stream.'),
};

const settingsFields = {
  speed: honoured(optional(looseNumber), 'For all that follows, of everybody. Moved into 0.2 to 2.'),
  ...each(
    [
      'temperature',
      'length_penalty',
      'repetition_penalty',
      'top_p',
      'top_k',
      'enable_text_splitting',
      'stream_chunk_size',
    ],
    ignored('Kept, and told by /get_tts_settings.'),
  ),
};

export const toAudioFidelity = fidelityOf(dialect, 'POST /tts_to_audio, /tts_to_file', toAudioFields);
export const streamFidelity = fidelityOf(dialect, 'GET /tts_stream', streamFields);
export const settingsFidelity = fidelityOf(dialect, 'POST /set_tts_settings', settingsFields);

export const xttsFidelity = [toAudioFidelity, streamFidelity, settingsFidelity];
