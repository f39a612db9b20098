import { AppError } from '../../core/errors.ts';

/** A grammar that cannot be followed: what is wrong, and where in its text. */
export class GbnfError extends AppError<'invalid-field'> {
  constructor(source: string, place: number, reason: string) {
    const before = source.slice(0, place);
    const line = before.split(/\r\n|\r|\n/).length;
    const column = before.length - Math.max(before.lastIndexOf('\n'), before.lastIndexOf('\r'));
    super('invalid-field', {
      field: 'grammar',
      expected: `valid GBNF, but at line ${line}, column ${column} ${reason}`,
    });
  }
}

/** Noticed while a text is followed, when nobody can say any more which place of the grammar is to blame. */
export function tooAmbiguous(): AppError {
  return new AppError('invalid-field', {
    field: 'grammar',
    expected: 'simpler: the text can be read in so many ways at once that following it takes too long',
  });
}
