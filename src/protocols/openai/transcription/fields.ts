import type { EndpointFidelity } from '../../../core/fidelity.ts';
import { looseFlag, looseTexts } from '../../fields/loose.ts';
import { described, oneOf, orElse, type Read, readText, wrong } from '../../fields/readers.ts';
import { textSchema } from '../../fields/schemas.ts';
import { approximated, aside, each, fidelityOf, honoured, ignored, sentAs } from '../../fields/table.ts';
import { languageFields, recordingFields } from '../../recording.ts';
import { unsupportedField } from '../errors.ts';
import { dialect } from '../fields.ts';

const formats = ['json', 'text', 'srt', 'verbose_json', 'vtt'] as const;
export type Format = (typeof formats)[number];

const readFormat: Read<Format> = described(
  { enum: formats, default: 'json' },
  orElse((value, path) => {
    const text = readText(value, path).trim().toLowerCase() || 'json';
    if (text !== 'diarized_json') return oneOf(...formats)(text, path);
    throw unsupportedField(path, `speakers are not told apart here; use ${formats.join(', ')}`, 'unsupported_value');
  }, 'json'),
);

const readGranularities: Read<readonly string[]> = described(
  { type: 'array', items: { enum: ['word', 'segment'] } },
  orElse((value, path) => {
    const asked = looseTexts(16)(value, path);
    if (asked.every((one) => one === 'word' || one === 'segment')) return asked;
    throw wrong(path, 'a list of word, segment, or both');
  }, []),
);

const commonFields = {
  ...recordingFields,
  model: sentAs(textSchema, aside('approximated', 'Any name is accepted; the recogniser of the server answers.')),
  response_format: honoured(
    readFormat,
    'json, text, srt, verbose_json, vtt. diarized_json is refused: speakers are not told apart.',
  ),
};

export const transcriptionFields = {
  ...commonFields,
  ...languageFields,
  timestamp_granularities: approximated(
    readGranularities,
    'In verbose_json. The built-in recogniser tells no times: within a stretch of speech they are spread by the length of the words.',
  ),
  stream: honoured(orElse(looseFlag, false), 'A piece for each sentence.'),
  include: ignored('There are no logprobs.'),
  chunking_strategy: ignored('Recordings are always cut where nobody speaks.'),
  ...each(['languages', 'keywords', 'known_speaker_names', 'known_speaker_references'], ignored()),
};

export const translationFields = { ...commonFields, ...languageFields };

export const transcriptionFidelity = fidelityOf(dialect, 'POST /v1/audio/transcriptions', transcriptionFields);
export const translationFidelity = fidelityOf(dialect, 'POST /v1/audio/translations', translationFields);

export const transcriptionFidelities: readonly EndpointFidelity[] = [transcriptionFidelity, translationFidelity];
