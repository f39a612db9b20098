import { AppError } from '../core/errors.ts';

/** A schema that no grammar can follow, or that is no schema: which keyword, where, and why. */
export class GrammarError extends AppError<'invalid-field'> {
  constructor(
    readonly reason: string,
    readonly pointer: string,
    readonly keyword?: string,
  ) {
    const place = keyword === undefined ? pointer : `${pointer} (${keyword})`;
    super('invalid-field', {
      field: 'schema',
      expected: `a JSON schema that a grammar can follow, but at ${place} ${reason}`,
    });
  }
}
