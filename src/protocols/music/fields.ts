import { AppError } from '../../core/errors.ts';
import { type SongFormat, songFormats } from '../../core/music.ts';
import { readGenkey } from '../controls/table.ts';
import { looseFlag, looseNumber, looseWhole } from '../fields/loose.ts';
import { clamp, described, orElse, type Read, readText, wrong } from '../fields/readers.ts';
import { approximated, fidelityOf, honoured, ignored, refused, returnedField } from '../fields/table.ts';

/** Longest song in seconds, and what the engine needs for it. */
const limits = { seconds: 420, steps: 100, codes: 5 * 420, characters: 10_000 } as const;

const shortText: Read<string> = described({ type: 'string', maxLength: limits.characters }, (value, path) => {
  const text = readText(value, path);
  if (text.length > limits.characters) throw wrong(path, `at most ${limits.characters} characters`);
  return text;
});

const number = (fallback: number, least?: number, most?: number): Read<number> =>
  described({ type: 'number', default: fallback }, (value, path) =>
    clamp(orElse(looseNumber, fallback)(value, path), least, most),
  );

const whole = (fallback: number, least?: number, most?: number): Read<number> =>
  described({ type: 'integer', default: fallback }, (value, path) =>
    clamp(orElse(looseWhole, fallback)(value, path), least, most),
  );

/** `12, 345`: indices into the codebook of the model. */
const readCodes: Read<readonly number[]> = described({ type: 'string' }, (value, path) => {
  const words = readText(value, path).split(',');
  const codes = words.filter((word) => word.trim() !== '').map(Number);
  if (codes.length > limits.codes) throw wrong(path, `at most ${limits.codes} codes`);
  if (codes.every((code) => Number.isInteger(code) && code >= 0 && code < 64_000)) return codes;
  throw wrong(path, 'integers from 0 to 63999, separated by commas');
});

const readFormat: Read<SongFormat> = described(
  { enum: songFormats },
  (value) => songFormats.find((format) => format === value) ?? 'wav',
);

const anyText: Read<string> = described({ type: 'string' }, (value) => (typeof value === 'string' ? value : ''));

function unsupported(feature: string): AppError {
  return new AppError('unsupported', { feature, instead: 'the engine generates songs from text only (text2music)' });
}

const textToMusicOnly: Read<unknown> = (value) => {
  if (value !== 'text2music' && value !== '') throw unsupported(`The task_type ${JSON.stringify(value)}`);
};

const noReference: Read<unknown> = (value) => {
  if (value !== '') throw unsupported('Reference audio');
};

const chosen = 'Left out: chosen by the language model in generate.';
const planned = 'The engine plans while it generates, with one set of sampling parameters.';

/** Fields of both endpoints: what `prepare` replies is what `generate` reads. */
export const musicFields = {
  caption: honoured(orElse(shortText, ''), 'Style of the song. Empty: "An interesting song".'),
  lyrics: honoured(orElse(shortText, ''), 'With section tags such as [Verse 1]. Empty: written by the language model.'),
  instrumental: honoured(orElse(looseFlag, false), 'No vocals; lyrics are not used.'),
  bpm: honoured(whole(0), chosen),
  duration: honoured(number(-1, -1, limits.seconds), `Seconds, at most ${limits.seconds}. ${chosen}`),
  keyscale: honoured(orElse(shortText, ''), chosen),
  timesignature: honoured(orElse(shortText, ''), chosen),
  vocal_language: honoured(orElse(shortText, 'en')),
  seed: honoured(whole(-1), '0 and less: random. The reply of prepare has the seed.'),
  lm_temperature: honoured(number(0.9, 0)),
  lm_cfg_scale: honoured(number(3, 0)),
  lm_top_p: honoured(number(0.9, 0, 1)),
  lm_top_k: honoured(whole(50, 0)),
  audio_codes: honoured(orElse(readCodes, []), 'The language model is not used with codes.'),
  inference_steps: honoured(
    whole(8, 0, limits.steps),
    `At most ${limits.steps}; 0: default of the model. Another number than in the last song loads the model again.`,
  ),
  guidance_scale: honoured(number(1, 0), '0: default of the model.'),
  shift: honoured(number(3, 0), '0: default of the model. Like inference_steps, it belongs to the loaded model.'),
  stereo: honoured(orElse(looseFlag, true), 'false: mono with 32 kHz instead of stereo with 48 kHz.'),
  use_mp3: honoured(orElse(looseFlag, false)),
  response_format: approximated(orElse(readFormat, 'wav'), 'mp3 and wav; wav for all others.'),
  genkey: honoured(readGenkey, 'The key by which the native API can stop it.'),
  codes_temperature: returnedField(number(1), planned),
  codes_top_p: returnedField(number(0.99), planned),
  codes_top_k: returnedField(whole(1000), planned),
  lm_rep_pen: returnedField(number(1.03), 'The engine has no repetition penalty.'),
  lm_negative_prompt: returnedField(anyText, 'The engine has no negative prompt.'),
  gen_codes: ignored('Codes are made in generate.'),
  rewrite_caption: ignored('The caption stays as it is; without lyrics, generate extends it.'),
  audio_cover_strength: ignored('For reference audio.'),
  task_type: refused('Only text2music.', textToMusicOnly),
  music_reference_audio_data: refused('Songs are generated from text only.', noReference),
};

export const musicFidelity = fidelityOf(
  'Native text API',
  'POST /api/extra/music/prepare, /api/extra/music/generate',
  musicFields,
);
