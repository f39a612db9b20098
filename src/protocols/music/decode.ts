import type { MusicRequest } from '../../core/music.ts';
import type { JsonObject } from '../../http/body.ts';
import { type Fields, readFields } from '../fields.ts';
import { musicFields } from './fields.ts';

export type SongFields = Fields<typeof musicFields>;

/** The fields of a song, with a seed. */
export function decodeSong(body: JsonObject, newSeed: () => number): SongFields {
  const fields = readFields(musicFields, body);
  const { caption, seed } = fields;
  return {
    ...fields,
    caption: caption.trim() === '' ? 'An interesting song' : caption,
    seed: seed > 0 ? seed : newSeed(),
  };
}

const instrumental = '[Instrumental]';

export function musicRequest(fields: SongFields): MusicRequest {
  return {
    caption: fields.caption,
    lyrics: fields.instrumental ? instrumental : fields.lyrics.trim() || undefined,
    bpm: fields.bpm > 0 ? fields.bpm : undefined,
    seconds: fields.duration > 0 ? fields.duration : undefined,
    keyScale: fields.keyscale || undefined,
    timeSignature: fields.timesignature || undefined,
    language: fields.vocal_language,
    seed: fields.seed,
    planner: {
      temperature: fields.lm_temperature,
      topP: fields.lm_top_p,
      topK: fields.lm_top_k,
      guidance: fields.lm_cfg_scale,
    },
    codes: fields.audio_codes,
    steps: fields.inference_steps,
    shift: fields.shift,
    guidance: fields.guidance_scale,
    stereo: fields.stereo,
    format: fields.use_mp3 ? 'mp3' : fields.response_format,
  };
}
