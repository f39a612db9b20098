/**
 * Key of the format version in stored JSON objects. Files of Parley 0.1.0 have none; they are of version 1. A version changes only
 * when earlier programs could not read the file.
 */
export const versionKey = 'file_version';

/** The file is of a later version of Parley: it must neither be read nor replaced nor deleted. */
export class NewerFile extends Error {
  override readonly name = 'NewerFile';

  constructor(version: unknown, known: number) {
    super(
      `it was written by a newer version of Parley (file version ${JSON.stringify(version)}; this one reads up to ${known}); update Parley, or use another file`,
    );
  }
}

/** Throws `NewerFile` unless the content is of a version that is known. */
export function checkVersion(content: Readonly<Record<string, unknown>>, known = 1): void {
  const version = content[versionKey] ?? 1;
  if (typeof version !== 'number' || !(version <= known)) throw new NewerFile(version, known);
}
