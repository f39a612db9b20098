import type { EndpointFidelity } from '../../../core/fidelity.ts';
import { speechNotes } from '../../speech-notes.ts';

export const speechFidelity: EndpointFidelity = {
  dialect: 'OpenAI',
  endpoint: 'POST /v1/audio/speech',
  fields: [
    { field: 'input', handling: 'honoured', note: speechNotes.text },
    { field: 'model', handling: 'approximated', note: 'Any name is accepted; the loaded voice model speaks.' },
    { field: 'voice', handling: 'approximated', note: speechNotes.voice },
    {
      field: 'response_format',
      handling: 'honoured',
      note: 'mp3, wav, opus, flac and pcm; aac cannot be made here and is refused.',
    },
    { field: 'speed', handling: 'honoured', note: '0.25 to 4; others are refused.' },
    {
      field: 'stream_format',
      handling: 'honoured',
      note: 'usage counts words and tenths of seconds: speech has no tokens here.',
    },
    { field: 'instructions', handling: 'approximated', note: speechNotes.instruction },
    { field: 'instruction', handling: 'approximated', note: `Another name of instructions.` },
    { field: 'language', handling: 'approximated', note: speechNotes.language },
    { field: 'lang_code', handling: 'approximated', note: 'Another name of language.' },
    { field: 'seed', handling: 'approximated', note: speechNotes.seed },
    { field: 'text', handling: 'honoured', note: 'Another name of input.' },
    { field: 'speaker_wav', handling: 'honoured', note: 'Another name of voice.' },
    { field: 'genkey', handling: 'honoured' },
    { field: 'stream', handling: 'ignored', note: 'Sound is always sent as it is made.' },
    { field: 'speaker_json', handling: 'ignored', note: 'For OuteTTS, which is not possible yet.' },
  ],
};
