import * as a from '../answers.ts';

const song = a.object({
  ...Object.fromEntries(
    ['caption', 'lyrics', 'keyscale', 'timesignature', 'vocal_language', 'audio_codes'].map((name) => [name, a.text]),
  ),
  ...Object.fromEntries(
    ['duration', 'lm_temperature', 'lm_cfg_scale', 'lm_top_p', 'guidance_scale', 'shift'].map((name) => [
      name,
      a.number,
    ]),
  ),
  ...Object.fromEntries(['bpm', 'seed', 'lm_top_k', 'inference_steps'].map((name) => [name, a.whole])),
  ...Object.fromEntries(['codes_temperature', 'codes_top_p', 'lm_rep_pen'].map((name) => [name, a.number])),
  codes_top_k: a.whole,
  lm_negative_prompt: a.text,
  instrumental: a.flag,
  thinking: a.flag,
  task_type: a.words('text2music'),
});

export const musicAnswers: a.DialectAnswers = {
  errors: {},
  answers: {
    'POST /api/extra/music/prepare': a.json(a.either(song, a.object({ error: a.text }))),
    'POST /api/extra/music/generate': a.media('audio/wav', 'audio/mpeg'),
  },
};
