/** What is said of the fields of speech in every family that has them. */
export const speechNotes = {
  text: 'Up to --ttsmaxlen words; more is refused. A style in brackets at its beginning is taken off: it is the instruction.',
  voice:
    'A name of the list, its position there, or any other: known names have a fixed voice of the same sound where there is one, others always the same voice. Samples of --ttsdir are listed, but no engine here can imitate them: x-parley-notes tells who speaks instead.',
  instruction: 'No engine here follows it; x-parley-notes says so.',
  language: 'A voice has its own language; x-parley-notes says so where it is another one.',
  seed: 'Handed to the engine; those of today always say a text in the same way.',
} as const;
