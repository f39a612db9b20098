import type { FillMarks } from '../../../../core/text-service.ts';
import type { Vocabulary } from './vocabulary.ts';

type Spelling = Pick<Vocabulary, 'tokenize' | 'detokenize' | 'size'> & {
  readonly pointer: Vocabulary['pointer'];
  readonly native: Pick<
    Vocabulary['native'],
    'tokenGapPrefix' | 'tokenGapSuffix' | 'tokenGapMiddle' | 'tokenRepository' | 'tokenFile'
  >;
};

/** The marks of a gap that the file of the model names, or that the library knows by their names. */
export function fillMarks(vocabulary: Spelling): FillMarks | undefined {
  const { native, pointer } = vocabulary;
  const prefix = spelled(vocabulary, native.tokenGapPrefix(pointer));
  const suffix = spelled(vocabulary, native.tokenGapSuffix(pointer));
  const middle = spelled(vocabulary, native.tokenGapMiddle(pointer));
  if (prefix === undefined || suffix === undefined || middle === undefined) return undefined;
  const repository = spelled(vocabulary, native.tokenRepository(pointer));
  return { prefix, suffix, middle, repository, file: spelled(vocabulary, native.tokenFile(pointer)) };
}

/** Prompts are texts: a mark is of use only where its text is read as this very token again. */
function spelled(vocabulary: Spelling, token: number): string | undefined {
  if (token < 0 || token >= vocabulary.size) return undefined;
  const text = vocabulary.detokenize([token], true);
  const [read, ...more] = vocabulary.tokenize(text, { addSpecial: false });
  return read === token && more.length === 0 ? text : undefined;
}
