import type { EndpointFidelity, FieldFidelity } from '../../core/fidelity.ts';
import { speechNotes } from '../speech-notes.ts';

const dialect = 'XTTS API server';

const spoken: readonly FieldFidelity[] = [
  { field: 'text', handling: 'honoured', note: speechNotes.text },
  { field: 'speaker_wav', handling: 'approximated', note: speechNotes.voice },
  { field: 'language', handling: 'approximated', note: speechNotes.language },
];

export const toAudioFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /tts_to_audio, /tts_to_file',
  fields: [
    ...spoken,
    { field: 'input', handling: 'honoured', note: 'Another name of text, which wins.' },
    { field: 'voice', handling: 'honoured', note: 'Another name of speaker_wav, which wins.' },
    { field: 'accent', handling: 'ignored' },
    { field: 'save_path', handling: 'ignored' },
    { field: 'stream', handling: 'ignored', note: 'Use /tts_stream.' },
  ],
};

export const streamFidelity: EndpointFidelity = { dialect, endpoint: 'GET /tts_stream', fields: spoken };

export const settingsFidelity: EndpointFidelity = {
  dialect,
  endpoint: 'POST /set_tts_settings',
  fields: [
    { field: 'speed', handling: 'honoured', note: 'For all that follows, of everybody. Moved into 0.2 to 2.' },
    ...[
      'temperature',
      'length_penalty',
      'repetition_penalty',
      'top_p',
      'top_k',
      'enable_text_splitting',
      'stream_chunk_size',
    ].map((field): FieldFidelity => ({ field, handling: 'ignored', note: 'Kept, and told by /get_tts_settings.' })),
  ],
};

export const xttsFidelity: readonly EndpointFidelity[] = [toAudioFidelity, streamFidelity, settingsFidelity];
