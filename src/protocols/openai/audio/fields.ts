import { type SpeechFormat, speechFormats } from '../../../core/speech.ts';
import { looseNumber } from '../../fields/loose.ts';
import { described, oneOf, optionalText, orElse, type Read, wrong } from '../../fields/readers.ts';
import { textSchema } from '../../fields/schemas.ts';
import { approximated, aside, fidelityOf, honoured, ignored, sentAs } from '../../fields/table.ts';
import { paces, spokenFields } from '../../spoken-text.ts';
import { unsupportedField } from '../errors.ts';

const readFormat: Read<SpeechFormat> = described({ enum: speechFormats }, (value, path) => {
  if (value === '') return 'mp3';
  const name = typeof value === 'string' ? value.trim().toLowerCase() : '';
  const found = speechFormats.find((format) => format === name);
  if (found) return found;
  const instead = `${JSON.stringify(value)} cannot be made here; mp3, wav, opus, flac and pcm are possible`;
  throw unsupportedField(path, instead, 'unsupported_value');
});

const readSpeed: Read<number> = described(
  { type: 'number', minimum: paces.least, maximum: paces.most },
  (value, path) => {
    const speed = looseNumber(value, path);
    if (speed >= paces.least && speed <= paces.most) return speed;
    throw wrong(path, `a number from ${paces.least} to ${paces.most}`);
  },
);

export const speechFields = {
  ...spokenFields,
  model: sentAs(textSchema, aside('approximated', 'Any name is accepted; the loaded voice model speaks.')),
  response_format: honoured(
    orElse(readFormat, 'mp3'),
    'mp3, wav, opus, flac and pcm; aac cannot be made here and is refused.',
  ),
  speed: honoured(orElse(readSpeed, 1), '0.25 to 4; others are refused.'),
  stream_format: honoured(
    orElse(oneOf('audio', 'sse'), 'audio'),
    'usage counts words and tenths of seconds: speech has no tokens here.',
  ),
  instructions: approximated(optionalText, 'Another name of instruction, which wins.'),
  lang_code: approximated(optionalText, 'Another name of language.'),
  stream: ignored('Sound is always sent as it is made.'),
};

export const speechFidelity = fidelityOf('OpenAI', 'POST /v1/audio/speech', speechFields);
