import * as a from '../answers.ts';
import { defaultSettings } from './routes.ts';

/** A sentence, or a list if a field is wrong. */
const detail = a.either(a.text, a.list(a.object({ loc: a.list(a.text), msg: a.text, type: a.text })), a.busyDetail);

const settings = a.object(
  Object.fromEntries(Object.entries(defaultSettings).map(([name, value]) => [name, { type: typeof value }])),
);

const voice = a.object({ id: a.count, lang: a.list(a.text), name: a.text });
const message = a.answer({ message: a.text });

export const xttsAnswers: a.DialectAnswers = {
  errors: {
    xtts: a.object({ detail }),
    vits: a.object({ status: a.words('error'), message: a.text, 'detail?': a.busyDetail }),
  },
  answers: {
    'POST /tts_to_audio': a.media('audio/wav'),
    'GET /tts_stream': a.media('audio/x-wav'),
    'POST /tts_to_file': a.answer({ message: a.text, output_path: a.text }),
    'GET /speakers_list': a.json(a.list(a.text)),
    'GET /speakers': a.json(a.list(a.object({ name: a.text, voice_id: a.text, preview_url: a.text }))),
    'GET /languages': a.answer({ languages: a.mapOf(a.text) }),
    'GET /get_tts_settings': a.json(settings),
    'POST /set_tts_settings': message,
    'GET /get_models_list': a.json(a.list(a.text)),
    'POST /switch_model': message,
    'GET /get_folders': a.answer({ speaker_folder: a.text, output_folder: a.text, model_folder: a.text }),
    'POST /set_output': a.refused,
    'POST /set_speaker_folder': a.refused,
    'GET /sample/{rest}': a.media('audio/wav', 'audio/mpeg', 'audio/ogg', 'audio/flac'),
    'GET /voice/speakers': a.answer({ VITS: a.list(voice), 'W2V2-VITS': a.list(voice), 'BERT-VITS2': a.list(voice) }),
    'GET /voice/check': a.answer({ status: a.words('success') }),
    'GET /voice/vits': a.sounds,
    'POST /voice/vits': a.sounds,
  },
};
