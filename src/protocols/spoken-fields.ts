import { readGenkey } from './controls/table.ts';
import { looseWhole } from './fields/loose.ts';
import { optional, optionalText, orElse } from './fields/readers.ts';
import { approximated, type Fields, honoured, ignored } from './fields/table.ts';
import { readVoiceName } from './voice-names.ts';

/** What is said of them, whatever they are called. */
export const spokenNotes = {
  text: 'Up to --ttsmaxlen words; more is refused. A style in brackets at its beginning is taken off: it is the instruction.',
  voice:
    'A name of the list, its position there, or any other: known names have a fixed voice of the same sound where there is one, others always the same voice. Samples of --ttsdir are listed, but no engine here can imitate them: x-parley-notes tells who speaks instead.',
  language: 'A voice has its own language; x-parley-notes says so where it is another one.',
} as const;

const voiceName = optional(readVoiceName);

/** The fields of whatever is to be spoken; each family has most of them. */
export const spokenFields = {
  input: honoured(optionalText, spokenNotes.text),
  text: honoured(optionalText, 'Another name of input.'),
  voice: approximated(voiceName, spokenNotes.voice),
  speaker_wav: approximated(voiceName, 'Another name of voice.'),
  instruction: approximated(optionalText, 'No engine here follows it; x-parley-notes says so.'),
  language: approximated(optionalText, spokenNotes.language),
  seed: approximated(orElse(looseWhole, -1), 'Handed to the engine; those of today always say a text in the same way.'),
  genkey: honoured(readGenkey, 'The key by which the native API can stop it.'),
  speaker_json: ignored('For OuteTTS, which is not possible yet.'),
};

/** What was read of them, by a family that may have only some. */
export type SpokenFields = Partial<Fields<typeof spokenFields>> & {
  readonly instructions?: string | undefined;
  readonly lang_code?: string | undefined;
};
