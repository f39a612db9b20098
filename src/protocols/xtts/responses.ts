import * as s from '../response-schemas.ts';
import { defaultSettings } from './settings.ts';

/** A sentence, or a list if a field is wrong. */
const detail = s.union(
  s.string,
  s.array(s.object({ loc: s.array(s.string), msg: s.string, type: s.string })),
  s.busyDetail,
);

const settings = s.object(
  Object.fromEntries(Object.entries(defaultSettings).map(([name, value]) => [name, { type: typeof value }])),
);

const voice = s.object({ id: s.count, lang: s.array(s.string), name: s.string });

export const errors = {
  xtts: s.object({ detail }),
  vits: s.object({ status: s.literal('error'), message: s.string, 'detail?': s.busyDetail }),
};

export const responses = {
  wav: s.media('audio/wav'),
  stream: s.media('audio/x-wav'),
  savedFile: s.jsonObject({ message: s.string, output_path: s.string }),
  names: s.json(s.array(s.string)),
  speakers: s.json(s.array(s.object({ name: s.string, voice_id: s.string, preview_url: s.string }))),
  languages: s.jsonObject({ languages: s.record(s.string) }),
  settings: s.json(settings),
  message: s.jsonObject({ message: s.string }),
  folders: s.jsonObject({ speaker_folder: s.string, output_folder: s.string, model_folder: s.string }),
  refused: s.refused,
  sample: s.media('audio/wav', 'audio/mpeg', 'audio/ogg', 'audio/flac'),
  vitsSpeakers: s.jsonObject({ VITS: s.array(voice), 'W2V2-VITS': s.array(voice), 'BERT-VITS2': s.array(voice) }),
  vitsCheck: s.jsonObject({ status: s.literal('success') }),
  speech: s.audio,
};
