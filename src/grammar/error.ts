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

/** The grammar has grown too large: the fault of no keyword, but of all that was asked for together. */
export class GrammarLimitError extends GrammarError {
  constructor(reason: string) {
    super(reason, '#');
  }
}
